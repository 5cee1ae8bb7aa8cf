"""``--log-level`` and ``--log-format``, for every command that runs until it is told to stop."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from attractor.cli.terminal import is_coloured

if TYPE_CHECKING:
    import argparse


def add_log_flags(parser: argparse.ArgumentParser, *, level: str = "info") -> None:
    """Let a command say how much is logged, and how."""
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default=level, help=f"(default: {level})"
    )
    parser.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="text, coloured on a terminal, or one JSON object a line (default: text)",
    )


def begin_log(args: argparse.Namespace) -> None:
    """Log to standard error from here on, as the flags say."""
    from attractor.runtime.observability.field_logger import log_to_stderr

    log_to_stderr(getattr(logging, args.log_level.upper()), form=args.log_format, coloured=is_coloured(sys.stderr))

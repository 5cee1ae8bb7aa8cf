"""Environment files: lines ``NAME=value``, as shells and container tools read them. Pure."""

from __future__ import annotations


def variables(text: str) -> dict[str, str]:
    """The variables of an environment file: lines ``NAME=value``, ``export`` and quotes as shells have them.

    >>> variables("# where\\nA=1\\nexport B='two words'\\nC=a=b\\n\\nnonsense\\n")
    {'A': '1', 'B': 'two words', 'C': 'a=b'}
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or name.startswith("#"):
            continue
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found[name] = value
    return found

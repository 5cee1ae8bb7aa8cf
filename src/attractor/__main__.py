"""``python -m attractor`` is the ``attractor`` command."""

import sys

from attractor.cli.main import main

sys.exit(main())

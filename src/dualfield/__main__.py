"""``python -m dualfield`` is the command ``dualfield``."""

import sys

from dualfield.cli import main

sys.exit(main())

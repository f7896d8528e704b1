"""``python -m dualfield`` is the command ``dualfield``."""

from dualfield.cli import main

main()

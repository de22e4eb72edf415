"""The way in: `oneroof` and `python -m oneroof`.

Loading the command takes a moment; until it is loaded there is nothing to undo, so Ctrl-C simply ends it.
"""

from __future__ import annotations

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Load the command line, then hand over."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from oneroof import cli

    cli.main()


if __name__ == "__main__":
    main()

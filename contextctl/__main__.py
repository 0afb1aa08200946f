"""``python -m contextctl`` and the console script."""

from __future__ import annotations

import sys

from contextctl import __version__


def run() -> None:
    """Answer ``--version`` before anything is loaded; else hand over to the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"contextctl {__version__}")  # noqa: T201
        return
    from contextctl.cli.app import main

    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()

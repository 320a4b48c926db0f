"""`python -m assets`: the same as `ldg run`; with arguments, the same as `ldg`."""

import sys

from assets.cli import program

if __name__ == "__main__":
    program(sys.argv[1:] or ["run"], name="python -m assets")

"""`python -m assets`: the same as `ldg run`; with arguments, the same as `ldg`."""

import sys

from assets.cli import main

if __name__ == "__main__":
    main(sys.argv[1:] or ["run"], program="python -m assets")

"""`python -m pipeline.sources.paper DATA HOME`: prepare a home for the paper's experiments."""

import argparse
import os
from pathlib import Path

from pipeline.sources.paper import prepare


def main() -> None:
    """Prepare it, or say that it is."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.sources.paper", description="Prepare a home for the paper's experiments."
    )
    parser.add_argument("data", type=Path, help="the real files: github_2013/ and social_evolution/")
    parser.add_argument("home", type=Path, help="where everything is kept, as in LDG_HOME")
    given = parser.parse_args()
    try:
        done = "prepared" if prepare(given.data, given.home, os.environ) else "already prepared"
    except ValueError as error:  # a PaperError, or a setting of the shell that cannot be read
        parser.error(str(error))
    print(f"The paper's experiments {done}: {given.home}")


if __name__ == "__main__":
    main()

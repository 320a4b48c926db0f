"""`python -m pipeline.sources.sample HOME`: build the sample world under a home."""

import argparse
from pathlib import Path

from pipeline.sources.sample import build, sample_paths


def main() -> None:
    """Build it, or say that it is there."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.sources.sample", description="Build the embedded sample world."
    )
    parser.add_argument("home", type=Path, help="where everything is kept, as in LDG_HOME")
    home: Path = parser.parse_args().home
    try:
        done = "built" if build(home) else "already built"
    except FileExistsError as error:
        parser.error(str(error))
    print(f"Sample world {done}: {sample_paths(home).marker.parent}")


if __name__ == "__main__":
    main()

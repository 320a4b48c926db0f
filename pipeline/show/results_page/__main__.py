"""`python -m pipeline.show.results_page HOME [PAGE]`: write the page of the paper's results from a home."""

import argparse
from pathlib import Path

from pipeline.lake import Lake
from pipeline.show.results_page import page_of, write_results_page


def main() -> None:
    """Write it, and say where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.show.results_page", description="Write the page of the paper's results."
    )
    parser.add_argument("home", type=Path, help="where everything is kept, as in LDG_HOME")
    parser.add_argument(
        "page",
        type=Path,
        nargs="?",
        help="docs/results.md for a home with the paper's settings, HOME/page/results.md for any other",
    )
    given = parser.parse_args()
    page: Path = given.page or page_of(given.home)
    try:
        write_results_page(Lake(given.home), page)
    except FileNotFoundError as error:
        parser.error(str(error))
    print(f"Results: {page}")


if __name__ == "__main__":
    main()

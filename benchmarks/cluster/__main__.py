"""`python -m benchmarks.cluster --kills 20` kills workers, schedulers and clients, so many times each;
`--speed` (without either, this one) holds two workers against one and against none. Prints JSON.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path

from benchmarks.cluster.kills import kills
from benchmarks.cluster.speed import speed


def main() -> None:
    """Print what was asked for as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=0, help="of each kind of process")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rounds", type=int, default=3, help="of --speed")
    parser.add_argument("--seed", type=int, default=7, help="which decides the moments of --kills")
    arguments = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory(prefix="ldg-bench-") as folder:
        if arguments.kills:
            figures["kills"] = kills(Path(folder), arguments.kills, random.Random(arguments.seed))
        if arguments.speed or not arguments.kills:
            figures["speed"] = speed(Path(folder), arguments.rounds)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

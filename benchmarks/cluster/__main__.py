"""`python -m benchmarks.cluster --kills 20` kills workers, schedulers and clients, so many times each;
`--speed` (without any, this one) holds two workers against one and against none, `--table3 HOME` with the
trainings of the paper's Table 3 on the event tables in a home. Prints JSON.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path

from benchmarks.cluster.kills import VICTIMS, kills
from benchmarks.cluster.speed import speed, speed_of_table_3


def main() -> None:
    """Print what was asked for as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=0, help="of each kind of process")
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=VICTIMS, help="of --kills")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--table3", type=Path, metavar="HOME")
    parser.add_argument("--seeds", type=int, default=1, help="of --table3")
    parser.add_argument("--epochs", type=int, default=1, help="of --table3")
    parser.add_argument("--rounds", type=int, default=3, help="of --speed")
    parser.add_argument("--seed", type=int, default=7, help="which decides the moments of --kills")
    arguments = parser.parse_args()
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="ldg-bench-") as folder:
        if arguments.kills:
            chance = random.Random(arguments.seed)
            figures["kills"] = kills(Path(folder), arguments.kills, arguments.victims, chance)
        if arguments.table3:
            of = arguments.table3, arguments.seeds, arguments.epochs
            figures["table3"] = speed_of_table_3(Path(folder), *of)
        if arguments.speed or not (arguments.kills or arguments.table3):
            figures["speed"] = speed(Path(folder), arguments.rounds)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()

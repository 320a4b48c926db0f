"""The golden run: `python -m tests.golden [--update]` compares what the system makes with stored digests.

Three homes are made: the sample world, a followed fortnight, and, where LDG_REAL_DATA names the folder of
real data, one epoch of some variants on the paper's GitHub network. `digests.json` beside this file holds a
digest of every group of files and of every warehouse table: a refactoring leaves them unchanged. Results of
floating point depend on the processor; where they differ at an unchanged commit, run `--update` there first.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

from tests.golden.digests import digest_home
from tests.todays_archive import World, write_days

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("digests.json")
FIRST_DAY, DAYS, LOOK_BACK = date(2024, 5, 1), 21, 8
FOLLOWING = {"LDG_FOLLOW_DAYS": str(LOOK_BACK), "LDG_FOLLOW_NODES": "8", "LDG_FOLLOW_RESELECT": "5"}
REAL = {"LDG_DATASETS": "github_2013", "LDG_SEEDS": "1"}
REAL_VARIANTS = (
    "dyrep-bilinear",
    "ldg_random_sparse-concat",
    "ldg_learned_sparse-bilinear",
    "ldg_learned_sparse_freq-bilinear",
    "rem-history",
)


def main() -> int:
    """Make the homes and compare their digests with the stored ones; return 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store the digests instead of comparing them")
    parser.add_argument("--folder", type=Path, default=ROOT / "data" / "golden", help="folder of the homes")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    homes = {"sample": make_sample, "following": make_following, "real": make_real}
    found: dict[str, dict[str, str]] = {}
    for name, make in homes.items():
        started = time.monotonic()
        if not make(options.folder / name):
            print(f"{name}: skipped, LDG_REAL_DATA is not set")
            continue
        found[name] = digest_home(options.folder / name)
        print(f"{name}: {len(found[name])} digests, {time.monotonic() - started:.0f} s", flush=True)
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if options.update:
        STORED.write_text(json.dumps(stored | found, indent=1, sort_keys=True) + "\n")
        return 0
    differing = [
        line for name, digests in found.items() for line in compare(name, stored.get(name, {}), digests)
    ]
    print("\n".join(differing) or "golden: unchanged")
    return 1 if differing else 0


def compare(home: str, stored: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """List what is new, gone or different in a home, one line each."""
    lines = []
    for name in sorted(stored.keys() | found.keys()):
        if stored.get(name) != found.get(name):
            change = "new" if name not in stored else "gone" if name not in found else "differs"
            lines.append(f"{change:>8}  {home}: {name}")
    return lines


def make_sample(home: Path) -> bool:
    """Run the sample world as `make run` does."""
    run_ldg(home, "sample")
    run_ldg(home, "run")
    return True


def make_following(home: Path) -> bool:
    """Replay a fortnight of a made-up archive day by day."""
    archive = home.with_name("archive")
    days = [FIRST_DAY + timedelta(days=number) for number in range(DAYS)]
    write_days(archive, World(people=12, circle=6, crowd=20, events=240), days)
    first, last = str(days[LOOK_BACK - 1]), str(days[-1])
    run_ldg(home, "follow", "--from", first, "--to", last, LDG_GHARCHIVE_URL=str(archive), **FOLLOWING)
    return True


def make_real(home: Path) -> bool:
    """Train one epoch of some variants on the paper's GitHub network; return whether the data are there."""
    data = os.environ.get("LDG_REAL_DATA")
    if not data:
        return False
    own = home / "own" / "github_2013"
    own.mkdir(parents=True)
    # In the environment of `ldg train` it would be refused for rem-history, which it does not reach.
    (home / ".env").write_text("LDG_EPOCHS=1\n")
    for source in (Path(data) / "github_2013").glob("*.parquet"):
        shutil.copy(source, own)
    shutil.copy(ROOT / "pipeline" / "sources" / "paper" / "github_2013.toml", own / "dataset.toml")
    run_ldg(home, "run", LDG_VARIANTS="dyrep", **REAL)
    for variant in REAL_VARIANTS:
        run_ldg(home, "train", "github_2013", variant, **REAL)
    run_ldg(home, "run", LDG_VARIANTS="dyrep", **REAL)
    return True


def run_ldg(home: Path, *arguments: str, **settings: str) -> None:
    """Run `ldg` on a home with these settings and none of the machine's."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("LDG_", "DAGSTER_"))}
    environment = inherited | {"LDG_HOME": str(home), "PYTHONPATH": str(ROOT)} | settings
    subprocess.run(
        [sys.executable, "-m", "assets", *arguments],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    sys.exit(main())

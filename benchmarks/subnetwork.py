"""Finding the dense subnetwork: DuckDB out of core beside a plain Polars group-by on the same events.

The group-by only counts; the pipeline then reads the events of those who may qualify once more, to count an
event archived twice once and to see who is tied to whom.

`python -m benchmarks.subnetwork --events 50000000`
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from pipeline.sources.gharchive.subnetwork import SubnetworkRule, find_subnetwork

DAYS = 365
MEMBERS = 300
RULE = SubnetworkRule()
TYPES = np.array(["WatchEvent", "PushEvent", "IssuesEvent", "IssueCommentEvent", "ForkEvent", "FollowEvent"])


def generate(folder: Path, events: int) -> None:
    """A year of daily folders; 300 members act enough to qualify, everyone else falls short."""
    random = np.random.default_rng(0)
    accounts = max(events // 25, 10 * MEMBERS)
    logins = pl.Series([f"account-{number:07d}" for number in range(accounts)])
    per_day = events // DAYS
    for place in range(DAYS):
        day = date(2013, 1, 1) + timedelta(days=place)
        # One event in twenty is a member's; the others are spread evenly, some 24 an account.
        member = random.random(per_day) < 0.05
        actor = np.where(
            member, random.integers(0, MEMBERS, per_day), random.integers(MEMBERS, accounts, per_day)
        )
        counterpart = random.integers(0, accounts, per_day)
        own = random.random(per_day) < 0.5
        counterpart[own & ~member] = actor[own & ~member]
        counterpart[member & (counterpart == actor)] += 1
        type_ = TYPES[random.integers(0, len(TYPES), per_day)]
        seconds = np.sort(random.integers(0, 86_400, per_day))
        name = logins.gather(counterpart)
        frame = pl.DataFrame(
            {
                "event_id": pl.int_range(place * per_day, (place + 1) * per_day, eager=True).cast(pl.String),
                "type": type_,
                "kind": np.where(type_ == "FollowEvent", "association", "communication"),
                "actor": logins.gather(actor),
                "actor_id": actor,
                "counterpart": name,
                "repo": name + "/code",
                "created_at": pl.Series(seconds * 1_000_000).cast(pl.Duration("us"))
                + datetime(day.year, day.month, day.day),
                "file": pl.Series([f"{day}-{hour}.json.gz" for hour in range(24)]).gather(seconds // 3600),
            }
        )
        target = folder / f"date={day}"
        target.mkdir()
        frame.write_parquet(target / "events.parquet")


def with_polars(folder: Path) -> list[str]:
    """The accounts over both thresholds by one group-by over the scan."""
    other = pl.col("actor").str.to_lowercase() != pl.col("counterpart").str.to_lowercase()
    counts = (
        pl.scan_parquet(folder / "date=*" / "*.parquet", hive_partitioning=False)
        .filter(other)
        .group_by(pl.col("actor").str.to_lowercase())
        .agg(
            communications=(pl.col("kind") == "communication").sum(),
            associations=(pl.col("kind") == "association").sum(),
        )
        .collect()
    )
    enough = (pl.col("communications") >= RULE.min_communications) & (
        pl.col("associations") >= RULE.min_associations
    )
    return counts.filter(enough)["actor"].sort().to_list()


def with_duckdb(folder: Path) -> list[str]:
    """The accounts of the subnetwork, as the pipeline finds them."""
    return find_subnetwork(folder, RULE).accounts["login"].to_list()


MEASURED = {"duckdb": with_duckdb, "polars": with_polars}


def measure(name: str, folder: Path) -> dict:
    """Run one way in a process of its own; its time, peak memory and what it found."""
    command = [sys.executable, "-m", "benchmarks.subnetwork", "--only", name, "--folder", str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Generate, measure each way, print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=MEASURED, help="measure in this process and print JSON")
    arguments = parser.parse_args()
    if arguments.only:
        started, busy = time.perf_counter(), time.process_time()
        result = MEASURED[arguments.only](arguments.folder)
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "cpu_seconds": busy, "peak_mb": peak, "found": result}))
        return
    with tempfile.TemporaryDirectory(prefix="ldg-bench-") as scratch:
        folder = Path(scratch)
        generate(folder, arguments.events)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / 1e6
        print(f"{arguments.events:,} events in {DAYS} daily files, {size:,.0f} MB of Parquet")
        results = {name: measure(name, folder) for name in MEASURED}
    for name, result in results.items():
        rate = arguments.events / result["seconds"] / 1e6
        print(
            f"  {name:<7} {result['seconds']:6.1f} s ({result['cpu_seconds']:.1f} s of processor)  "
            f"{rate:5.1f} M events/s  peak {result['peak_mb']:6,.0f} MB  {len(result['found'])} accounts"
        )
    same = results["duckdb"]["found"] == results["polars"]["found"]
    print("  the same accounts" if same else "  DIFFERENT accounts")
    seconds, busy, memory = (
        results["duckdb"][what] / results["polars"][what] for what in ("seconds", "cpu_seconds", "peak_mb")
    )
    print(
        f"  duckdb takes {seconds:.2f} of polars' time, {busy:.2f} of its processor time, "
        f"{memory:.2f} of its memory"
    )


if __name__ == "__main__":
    main()

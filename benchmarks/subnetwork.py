"""Finding the dense subnetwork in years of several sizes, beside a plain Polars group-by on the same events.

The group-by holds all accounts in memory and only counts; the pipeline then reads the events of those who may
qualify once more, to count an event archived twice once and to see who is tied to whom. So the group-by finds
more accounts, machines among them. Each way runs in a process of its own.

`python -m benchmarks.subnetwork --events 8000000 24000000 100000000`
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from benchmarks.archive_year import DAYS, write_year
from pipeline.lake import new_folder
from pipeline.sources.gharchive.subnetwork import find_subnetwork
from pipeline.sources.gharchive.subnetwork_rule import SubnetworkRule

RULE = SubnetworkRule()


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


def with_pipeline(folder: Path) -> list[str]:
    """The accounts of the subnetwork, as the pipeline finds them."""
    return find_subnetwork(folder, RULE).accounts["login"].to_list()


MEASURED = {"pipeline": with_pipeline, "group-by": with_polars}


def measure(name: str, folder: Path) -> dict:
    """Run one way in a process of its own; its time, peak memory and what it found."""
    command = [sys.executable, "-m", "benchmarks.subnetwork", "--only", name, "--folder", str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Generate years, measure each way, print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[8_000_000, 24_000_000])
    parser.add_argument("--ways", nargs="+", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--folder", type=Path, help="where years are made and kept")
    parser.add_argument("--only", choices=MEASURED, help="measure --folder in this process and print JSON")
    arguments = parser.parse_args()
    if arguments.only:
        started, busy = time.perf_counter(), time.process_time()
        result = MEASURED[arguments.only](arguments.folder)
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "cpu_seconds": busy, "peak_mb": peak, "found": result}))
        return
    with tempfile.TemporaryDirectory(prefix="ldg-bench-") as scratch:
        for events in arguments.events:
            compare((arguments.folder or Path(scratch)) / f"{events}", events, arguments.ways)


def compare(folder: Path, events: int, ways: list[str]) -> None:
    """Every way on one year, which is made unless it is there."""
    if not folder.exists():
        with new_folder(folder) as temporary:
            write_year(temporary, events)
    size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / 1e6
    print(f"{events:,} events in {DAYS} days, {size:,.0f} MB of Parquet", flush=True)
    results = {name: measure(name, folder) for name in ways}
    for name, result in results.items():
        print(
            f"  {name:<10} {result['seconds']:7.1f} s  {result['cpu_seconds']:7.1f} s of processor  "
            f"{events / result['cpu_seconds'] / 1e6:5.2f} M events per processor second  "
            f"peak {result['peak_mb']:6,.0f} MB  {len(result['found']):,} accounts",
            flush=True,
        )


if __name__ == "__main__":
    main()

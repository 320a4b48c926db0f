"""`make bench`: every measurement, one after the other, each printing ratios from one run."""

import subprocess
import sys

BENCHMARKS = (
    ("gharchive", "hour files to Parquet, beside gunzip and DuckDB"),
    ("subnetwork", "the dense subnetwork, beside a plain group-by"),
    ("days", "what a day of the archive costs beside its own work, headless and in the UI"),
    ("training", "training and ranking, beside the reference"),
    ("following", "a day of today's archive, from files to forecast"),
    ("cluster", "two workers beside one"),
    ("report", "a drag step of the report's explorer"),
)


def main() -> None:
    """Run them in processes of their own, so that peak memory is each one's."""
    for name, tells in BENCHMARKS:
        print(f"\n== {name}: {tells}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()

"""What the archive and large networks cost: each term measured at three sizes, extrapolated with its error.

    python -m benchmarks.scale [--core-hour 0.05] [--gigabyte-month 0.02]

Seconds are those of one core's processor time, each size in a process of its own. Answers: the whole archive
read and normalized, the subnetwork of a year, an epoch at 100,000 nodes and 100 million events, a day of a
followed network of 100,000.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.archive_year import write_year
from benchmarks.extrapolate import Estimate, PowerLaw, Prices
from benchmarks.followed_crowd import followed_day
from benchmarks.gharchive import make_hour, modern
from benchmarks.history import event_of_an_epoch
from benchmarks.large import Question, measured
from benchmarks.measure import Measured, alone, peak, size_of
from benchmarks.subnetwork import with_pipeline
from pipeline.lake import Lake
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.days import fetch_days
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules

ARCHIVE_BYTES = 11e9 * 4_000  # of text since 2011, an assumption: 11 billion events, as long as those of 2024
ARCHIVE_HOURS = 138_000
YEAR_EVENTS = 1.5e9  # of a recent year, an assumption as well
EPOCH_EVENTS = 100e6
NODES = 100_000
DAY = date(2015, 1, 1)
HOURS = (20_000_000, 60_000_000, 180_000_000)  # bytes of text
TEXT = 3_500  # bytes of prose in an event
YEARS = (8_000_000, 24_000_000, 100_000_000)  # events
PASSED = (100_000, 1_000_000, 5_000_000)  # events before those that are learned from
REM_KEY = "rem-history"
MODELS = ("dyrep-bilinear", "ldg_learned_sparse-bilinear", REM_KEY)
FOLLOWED = (3_000, 20_000, 100_000)  # people


def reading(size: int) -> Measured:
    """An hour of made-up events in the form of 2015, so many bytes of text, fetched, read and written."""
    with tempfile.TemporaryDirectory() as folder:
        archive, lake = Path(folder) / "archive", Lake(Path(folder) / "home")
        make_hour(archive / file_name(DAY, 0), modern, size, TEXT)
        started = time.process_time()
        for _ in fetch_days([DAY], lake, FetchSettings(base=str(archive))):
            read_day(DAY, lake, EventRules())
        return {"seconds": time.process_time() - started, "normalized bytes": size_of(lake.github_events)}


def subnetwork(events: int) -> Measured:
    """The dense subnetwork of a made-up year."""
    with tempfile.TemporaryDirectory() as folder:
        write_year(Path(folder) / "events", events)
        started = time.process_time()
        with_pipeline(Path(folder) / "events")
        return {"seconds": time.process_time() - started, "peak bytes": peak()}


def training(key: str, passed: int) -> Measured:
    """An event of a model's training at 100,000 nodes, when so many have passed."""
    if key == REM_KEY:
        return {"seconds": event_of_an_epoch(NODES, passed), "peak bytes": peak()}
    figures = measured(Question(NODES, 2_000, passed, key, threads=1))
    return {"seconds": figures["cpu_microseconds_per_event"] / 1e6, "peak bytes": peak()}


def laws(name: str, sizes: Sequence[int], work: Callable[[int], Measured]) -> dict[str, PowerLaw]:
    """What was measured of `work` at three sizes, printed, and a law of each quantity."""
    rows = [alone(work, size) for size in sizes]
    fitted = {what: PowerLaw.through(sizes, [row[what] for row in rows]) for what in rows[0]}
    for what, law in fitted.items():
        values = ", ".join(f"{size:,}: {row[what]:,.6g}" for size, row in zip(sizes, rows, strict=True))
        print(f"{name}, {what}: {values}; slope {law.slope:.2f}, residual {law.residual:.2f}", flush=True)
    return fitted


def tell_estimate(name: str, seconds: Estimate, prices: Prices, stored: float = 0.0) -> None:
    """One answer as a line."""
    hours = seconds.times(1 / 3600)
    print(
        f"{name}: {hours.value:,.1f} core-hours ({hours.low:,.1f} to {hours.high:,.1f}), "
        f"{stored / 1e9:,.0f} GB kept, {prices.of(seconds.value, stored):,.2f} for it and a month's storage"
    )


def tell_followed(prices: Prices, laws: dict[str, PowerLaw]) -> None:
    """A day of a followed network; its memory follows no power law, for most of it are libraries."""
    seconds, stored = laws["seconds"].at(NODES), laws["kept bytes"].at(NODES)
    print(
        f"a day of a followed network of {NODES:,}: {seconds.value:,.0f} s ({seconds.low:,.0f} to "
        f"{seconds.high:,.0f}), {stored.value / 1e9:.2f} GB kept, "
        f"{prices.of(seconds.value, stored.value):.3f} for it and a month's storage"
    )


def main() -> None:
    """Measure everything, then tell what it comes to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--core-hour", type=float, default=Prices.core_hour)
    parser.add_argument("--gigabyte-month", type=float, default=Prices.gigabyte_month)
    arguments = parser.parse_args()
    prices = Prices(arguments.core_hour, arguments.gigabyte_month)
    hour = laws("an hour read, by its bytes of text", HOURS, reading)
    year = laws("a subnetwork", YEARS, subnetwork)
    models = {key: laws(f"an event of {key}", PASSED, partial(training, key)) for key in MODELS}
    followed = laws("a followed day, by people", FOLLOWED, partial(followed_day, "rem"))
    size = ARCHIVE_BYTES / ARCHIVE_HOURS
    stored = hour["normalized bytes"].at(size).value * ARCHIVE_HOURS
    tell_estimate(
        "the whole archive, read and normalized",
        hour["seconds"].at(size).times(ARCHIVE_HOURS),
        prices,
        stored,
    )
    tell_estimate("the subnetwork of a year", year["seconds"].at(YEAR_EVENTS), prices)
    for key, fitted in models.items():
        law = fitted["seconds"]  # of an event when x have passed; their sum is that of the power law
        epoch = law.at(EPOCH_EVENTS).times(EPOCH_EVENTS / (1 + law.slope))
        tell_estimate(f"an epoch of {key}, 100,000 nodes, 100 million events", epoch, prices)
    tell_followed(prices, followed)


if __name__ == "__main__":
    main()

"""Cost of the archive and of large networks: each term measured at three sizes, extrapolated.

`python -m benchmarks.scale` counts seconds of one core's processor time, each size in a process of its own.
It answers for the whole archive read and normalized and an epoch at 100,000 nodes and 100 million events.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.crowd import crowd_stream
from benchmarks.extrapolate import Estimate, PowerLaw
from benchmarks.gharchive import make_hour, modern
from benchmarks.history import event_of_an_epoch
from benchmarks.measure import Measured, alone, peak, size_of
from benchmarks.training import learn_all, timed
from model.attention.start import Edges
from model.identity import TrainingSettings
from model.run import Run, new_run
from model.stream import ASSOCIATION, Stream
from pipeline.lake import Lake
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.days import fetch_days
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.variants import variant_with_key, variants_for

ARCHIVE_BYTES = 11e9 * 4_000  # of text since 2011, an assumption: 11 billion events, as long as those of 2024
ARCHIVE_HOURS = 138_000
EPOCH_EVENTS = 100e6
NODES = 100_000
DAY = date(2015, 1, 1)
HOURS = (20_000_000, 60_000_000, 180_000_000)  # bytes of text
TEXT = 3_500  # bytes of prose in an event
PASSED = (100_000, 1_000_000, 5_000_000)  # events before those that are learned from
LEARNED, WARM_UP = 2_000, 10  # events that are measured, and batches before them
REM_KEY = "rem-history"
MODELS = ("dyrep-bilinear", "ldg_learned_sparse-bilinear", REM_KEY)


def reading(size: int) -> Measured:
    """An hour of made-up events in the form of 2015, so many bytes of text, fetched, read and written."""
    with tempfile.TemporaryDirectory() as folder:
        archive, lake = Path(folder) / "archive", Lake(Path(folder) / "home")
        make_hour(archive / file_name(DAY, 0), modern, size, TEXT)
        started = time.process_time()
        for _ in fetch_days([DAY], lake, FetchSettings(base=str(archive))):
            read_day(DAY, lake, EventRules())
        return {"seconds": time.process_time() - started, "normalized bytes": size_of(lake.github_events)}


def training(key: str, passed: int) -> Measured:
    """Measure an event of a model's training at 100,000 nodes, when so many have passed."""
    if key == REM_KEY:
        return {"seconds": event_of_an_epoch(NODES, passed), "peak bytes": peak()}
    torch.set_num_threads(1)
    variant, settings = variant_with_key(key, variants_for(["Follow"])), TrainingSettings(seeds=(0,))
    first = passed + WARM_UP * settings.batch
    stream = crowd_stream(NODES, first + LEARNED + 1)
    run = new_run(replace(stream, splits=(len(stream), len(stream))), variant, settings)
    run.workspace.threads = 1
    run.state.position = passed
    connect_past(run, stream)
    learn_all(run, range(passed + settings.batch, first + 1, settings.batch))
    batches = range(first + settings.batch, first + LEARNED + 1, settings.batch)
    _, processor = timed(partial(learn_all, run, batches))
    return {"seconds": processor / (len(batches) * settings.batch), "peak bytes": peak()}


def connect_past(run: Run, stream: Stream) -> None:
    """Make neighbours of all who became so before the state's position: rows are as wide as they would be."""
    from model.large.pages import Pages

    before = slice(0, run.state.position)
    ends = np.sort(np.stack([stream.u[before], stream.v[before]], axis=1), axis=1)
    if not run.variant.is_sampled:
        ends = ends[stream.k[before] == ASSOCIATION]
    u, v, _, _ = run.state.pages.entries(0)
    met = np.concatenate([ends, np.stack([u[u < v], v[u < v]], axis=1)])
    i, j = torch.from_numpy(np.unique(met, axis=0)).long().unbind(1)
    edges = [Edges(i, j, torch.zeros_like(i))]
    pages = Pages.from_edges(edges, stream.nodes, run.variant.edge_types, torch.float32)
    pages.pools[0].near[:] = True
    pages.pools[0].value[:] = pages.pools[0].value[:1]
    run.state.attention = pages  # ty: ignore[invalid-assignment]


def laws(name: str, sizes: Sequence[int], work: Callable[[int], Measured]) -> dict[str, PowerLaw]:
    """What was measured of `work` at three sizes, printed, and a law of each quantity."""
    rows = [alone(work, size) for size in sizes]
    fitted = {what: PowerLaw.through(sizes, [row[what] for row in rows]) for what in rows[0]}
    for what, law in fitted.items():
        values = ", ".join(f"{size:,}: {row[what]:,.6g}" for size, row in zip(sizes, rows, strict=True))
        print(f"{name}, {what}: {values}; slope {law.slope:.2f}, residual {law.residual:.2f}", flush=True)
    return fitted


def tell_estimate(name: str, seconds: Estimate) -> None:
    """Print one answer as a line."""
    hours = seconds.times(1 / 3600)
    print(f"{name}: {hours.value:,.1f} core-hours ({hours.low:,.1f} to {hours.high:,.1f})")


def main() -> None:
    """Measure everything, then tell what it comes to."""
    hour = laws("an hour read, by its bytes of text", HOURS, reading)
    models = {key: laws(f"an event of {key}", PASSED, partial(training, key)) for key in MODELS}
    size = ARCHIVE_BYTES / ARCHIVE_HOURS
    tell_estimate("the whole archive, read and normalized", hour["seconds"].at(size).times(ARCHIVE_HOURS))
    stored = hour["normalized bytes"].at(size).times(ARCHIVE_HOURS / 1e9)
    print(f"what is kept of it: {stored.value:,.0f} GB ({stored.low:,.0f} to {stored.high:,.0f})")
    for key, fitted in models.items():
        law = fitted["seconds"]  # of an event when x have passed; their sum is that of the power law
        epoch = law.at(EPOCH_EVENTS).times(EPOCH_EVENTS / (1 + law.slope))
        tell_estimate(f"an epoch of {key}, 100,000 nodes, 100 million events", epoch)


if __name__ == "__main__":
    main()

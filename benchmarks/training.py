"""Seed-events per second of the engine and of the reference, side by side in one run.

    python -m benchmarks.training --dataset DIR --variant ldg_learned_sparse --interaction bilinear \
        --seeds 10 --events 2000 --trainings 2 --json

Rates are by the clock and, because a shared machine slows everything down, by processor time as well.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from model.batches import advance_clocks, draw_chance
from model.epochs import learn_batch
from model.identity import TrainingSettings
from model.memory import keep_freed_memory
from model.parameters import initial_parameters, width_of
from model.ranking import carry_and_rank
from model.reference import Reference
from model.run import Run, generators, new_run
from model.state import initial_state
from model.stream import Stream, load_stream
from pipeline.progress import Progress
from pipeline.variants import Variant, variant_with_key, variants_for


def synthetic_stream(nodes: int, events: int, seed: int = 0) -> Stream:
    """A stream whose nodes interact with a few partners each."""
    rng = np.random.default_rng(seed)
    u = rng.integers(0, nodes, events)
    v = (u + 1 + rng.geometric(0.3, events) % (nodes - 1)) % nodes
    v = np.where(v == u, (u + 1) % nodes, v)
    return Stream(
        name=f"synthetic_{nodes}",
        fingerprint="",
        nodes=nodes,
        u=u,
        v=v,
        k=(rng.random(events) < 0.9).astype(np.int64),
        seconds=np.sort(rng.random(events) * 86400 * 100),
        start=datetime(2013, 1, 1),
        idx=np.arange(events),
        splits=(events, events),
        associations=np.empty((0, 2), np.int64),
        features=None,
    )


def learn_all(run: Run, stops: Iterable[int]) -> None:
    """One optimizer step per batch."""
    for stop in stops:
        learn_batch(run, stop)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def rates(work: Callable[[], object], seed_events: int) -> dict[str, float]:
    """Seed-events per second of `work`."""
    clock, processor = timed(work)
    return {
        "seed_events_per_second": round(seed_events / clock, 2),
        "seed_events_per_cpu_second": round(seed_events / processor, 2),
    }


def measure_engine(
    stream: Stream, variant: Variant, settings: TrainingSettings, events: int, before: int
) -> dict[str, Any]:
    """Training on the events after `before` and a batch of warming up, then evaluation of as many.

    Of the events before, who is a neighbour and when each node was last seen is taken up, and nothing else.
    """
    run = new_run(stream, variant, settings)
    if before:
        advance_clocks(stream, variant, run.state, before)
    first = before + settings.batch
    learn_batch(run, first)
    last = first + events

    batches = range(first + settings.batch, last + 1, settings.batch)
    seed_events = len(settings.seeds) * len(batches) * settings.batch
    measured = {"training": rates(partial(learn_all, run, batches), seed_events)}
    start = run.state.position
    stop = min(start + events, len(stream))
    if stop > start:
        with Progress("evaluate", stop - start, "events", lambda _: None) as progress:
            random = generators(settings.seeds, "ranking")
            work = partial(carry_and_rank, run, run.parameters, run.state, stop, random, progress)
            measured["evaluation"] = rates(work, len(settings.seeds) * (stop - start))
    measured["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return measured


def measure_reference(stream: Stream, variant: Variant, d: int, events: int) -> dict[str, float]:
    """The reference on one seed: forward and gradient of a batch of `events`."""
    d = width_of(variant, d)
    parameters = initial_parameters(variant, d, generators((0,), "weights"))
    state = initial_state(stream, variant, d, generators((0,), "start"))
    chance = draw_chance(stream, variant, 0, events, generators((0,), "training"), noisy=True)
    named = {name: w[0].clone().requires_grad_() for name, w in parameters.named.items()}
    attention = state.attention.dense()[0]

    def learn() -> None:
        reference = Reference(variant, named, state.z[0], attention, attention != 0, [0.0] * stream.nodes)
        for b in range(events):
            noise = None if chance.noise is None else chance.noise[b, 0].float()
            ends = int(stream.u[b]), int(stream.v[b])
            reference.event(*ends, float(stream.seconds[b]), int(stream.k[b]), chance.others[0, b], noise)
        reference.losses().sum().backward()

    return rates(learn, events)


def measure(dataset: Path | None, key: str, seeds: int, events: int, before: int = 0) -> dict[str, Any]:
    """The engine's figures for one training."""
    torch.set_num_threads(1)  # as training does
    keep_freed_memory()
    stream, variant = subject(dataset, key, events)
    return measure_engine(stream, variant, TrainingSettings(seeds=tuple(range(seeds))), events, before)


def subject(dataset: Path | None, key: str, events: int) -> tuple[Stream, Variant]:
    """What is measured: a variant on an event table, or on a synthetic stream of 284 nodes."""
    if dataset is None:
        return synthetic_stream(284, 3 * events), variant_with_key(key, variants_for(["Follow"]))
    names = json.loads((dataset / "dataset.json").read_text(encoding="utf-8"))["relations"]
    variant = variant_with_key(key, variants_for(names))
    return load_stream(dataset, variant.relation), variant


def side_by_side(trainings: int, *arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - those of `measure`
    """Several trainings at once, a process each, as a full pass runs them: rates add up."""
    with ProcessPoolExecutor(trainings, mp_context=get_context("spawn")) as pool:
        each = [work.result() for work in [pool.submit(measure, *arguments) for _ in range(trainings)]]
    measured: dict[str, Any] = {"peak_memory_mb": sum(one["peak_memory_mb"] for one in each)}
    for part in ("training", "evaluation"):
        measured[part] = {name: round(sum(one[part][name] for one in each), 1) for name in each[0][part]}
    return measured


def main() -> None:
    """Measure what the arguments ask for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--dataset", type=Path, help="folder of an event table; a synthetic stream without it"
    )
    parser.add_argument("--variant", default="ldg_learned_sparse")
    parser.add_argument("--interaction", default="bilinear", choices=("concat", "bilinear"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--before", type=int, default=0, help="events that have passed")
    parser.add_argument("--reference-events", type=int, default=2)
    parser.add_argument("--trainings", type=int, default=1, help="side by side, a process each")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    key = f"{arguments.variant}-{arguments.interaction}"
    stream, variant = subject(arguments.dataset, key, arguments.events)
    asked = arguments.dataset, key, arguments.seeds, arguments.events, arguments.before
    measured: dict[str, Any] = {"variant": key, "nodes": stream.nodes, "seeds": arguments.seeds}
    measured["trainings"] = arguments.trainings
    measured["engine"] = (
        measure(*asked) if arguments.trainings == 1 else side_by_side(arguments.trainings, *asked)
    )
    if variant.is_recurrent:
        measured["reference"] = measure_reference(stream, variant, 32, arguments.reference_events)
        ours, theirs = measured["engine"]["training"], measured["reference"]
        measured["times_the_reference"] = {name: round(ours[name] / theirs[name], 1) for name in theirs}
    if arguments.json:
        print(json.dumps(measured))
    else:
        for name, value in measured.items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()

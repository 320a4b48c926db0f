"""What an event costs in a large network: against the number of nodes, and against event by event in torch.

    python -m benchmarks.large --growth --json
    python -m benchmarks.large --nodes 100000 --events 20000 --before 9000000 --variant dyrep --json
    python -m benchmarks.large --nodes 100000 --events 1000 --variant dyrep --small --json

Streams are crowds (`benchmarks.crowd`). `--before` starts as if so many events had passed: whoever met in
them is a neighbour, so that rows of attention are as wide as they would be. `--small` lets the engine for
small networks take it. Rates are by the clock and by processor time, since a shared machine slows
everything down.
"""

import argparse
import json
import resource
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from benchmarks.crowd import crowd_stream
from benchmarks.training import learn_all, timed
from model.attention.start import Edges
from model.identity import TrainingSettings
from model.large import rule
from model.run import Run, new_run
from model.stream import ASSOCIATION, Stream
from pipeline.variants import variant_with_key, variants_for

GROWTH = (3_000, 10_000, 30_000, 100_000)
WARM_UP = 10  # batches


@dataclass(frozen=True)
class Question:
    """One measurement."""

    nodes: int
    events: int
    before: int
    key: str
    threads: int
    small: bool = False


def measured(question: Question) -> dict[str, Any]:
    """Events per second of one seed's training, and the memory it took."""
    torch.set_num_threads(1)
    if question.small:
        rule.LARGE = question.nodes
    variant, settings = variant_with_key(question.key, variants_for(["Follow"])), TrainingSettings(seeds=(0,))
    first = question.before + WARM_UP * settings.batch
    stream = crowd_stream(question.nodes, first + question.events + 1)
    stream = replace(stream, splits=(len(stream), len(stream)))
    made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = new_run(stream, variant, settings)
    run.workspace.threads = question.threads
    run.state.position = question.before
    if question.before:
        meet(run, stream)
    learn_all(run, range(question.before + settings.batch, first + 1, settings.batch))
    batches = range(first + settings.batch, first + question.events + 1, settings.batch)
    clock, processor = timed(partial(learn_all, run, batches))
    events = len(batches) * settings.batch
    return asdict(question) | {
        "events_per_second": round(events / clock, 1),
        "events_per_cpu_second": round(events / processor, 1),
        "cpu_microseconds_per_event": round(1e6 * processor / events, 1),
        "neighbours_per_event": round(neighbours(run, stream.u[first:], stream.v[first:]), 1),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "of_which_stream_mb": round(made / 1024),
    }


def meet(run: Run, stream: Stream) -> None:
    """Let everyone be neighbours who became so before the state's position."""
    from model.large.pages import Pages

    before = slice(0, run.state.position)
    ends = np.sort(np.stack([stream.u[before], stream.v[before]], axis=1), axis=1)
    if not run.variant.is_sampled:
        ends = ends[stream.k[before] == ASSOCIATION]
    u, v, _, _ = run.state.pages.entries(0)
    met = np.concatenate([ends, np.stack([u[u < v], v[u < v]], axis=1)])
    i, j = torch.from_numpy(np.unique(met, axis=0)).long().unbind(1)
    pages = Pages.from_edges(
        [Edges(i, j, torch.zeros_like(i))], stream.nodes, run.variant.edge_types, torch.float32
    )
    pages.pools[0].near[:] = True
    pages.pools[0].value[:] = pages.pools[0].value[:1]
    run.state.attention = pages  # ty: ignore[invalid-assignment]


def neighbours(run: Run, u: np.ndarray, v: np.ndarray) -> float:
    """How many neighbours the two nodes of an event have on average, at the end."""
    state = run.state
    count = state.pages.pools[0].count if state.is_large else state.attention.count[0]
    return float((count[u] + count[v]).mean())


def growth(events: int, key: str, threads: int) -> dict[str, Any]:
    """An event's cost against the number of nodes, a process each, and its slope in log–log."""
    questions = [Question(nodes, events, 0, key, threads) for nodes in GROWTH]
    sizes = [alone(question) for question in questions]
    costs = [size["cpu_microseconds_per_event"] for size in sizes]
    return {"sizes": sizes, "slope": round(float(np.polyfit(np.log(GROWTH), np.log(costs), 1)[0]), 3)}


def alone(question: Question) -> dict[str, Any]:
    """`measured` in a process of its own, whose memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, question).result()


def main() -> None:
    """Measure what the arguments ask for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--before", type=int, default=0, help="events that have passed")
    parser.add_argument("--variant", default="ldg_learned_sparse")
    parser.add_argument("--interaction", default="bilinear", choices=("concat", "bilinear"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="by the engine for small networks")
    parser.add_argument("--growth", action="store_true", help="at several numbers of nodes")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    key = f"{arguments.variant}-{arguments.interaction}"
    if arguments.growth:
        figures = growth(arguments.events, key, arguments.threads)
    else:
        question = Question(
            arguments.nodes, arguments.events, arguments.before, key, arguments.threads, arguments.small
        )
        figures = measured(question)
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()

"""A whole epoch of a large network: seconds, processor seconds and the most memory that it took.

    python -m benchmarks.epoch --variant dyrep-bilinear --nodes 100000 --events 10000000 --threads 2
    python -m benchmarks.epoch --variant ldg_learned_sparse-bilinear
    python -m benchmarks.epoch --variant rem-history

What runs is what `train` runs until its first epoch ends, on a crowd (`benchmarks.crowd`) and with one seed:
learning from eight tenths of it, checkpoints, ranking in the tenth that validates; of the paper's models also
learning from that tenth and ranking in the last one. Progress goes to the error output, one JSON object with
the figures to the standard output. Memory is that of the process, the stream with it.
"""

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from benchmarks.crowd import crowd_stream
from benchmarks.history import crowd_events
from benchmarks.training import timed
from model.epochs import learn
from model.identity import TrainingSettings
from model.rem.settings import RemSettings
from model.rem.training import Training
from model.run import new_run
from pipeline.rem_variants import RemVariant
from pipeline.variants import model_named

SEEDS = (0,)


def epoch_of(key: str, nodes: int, events: int, threads: int, folder: Path) -> Callable[[], None]:
    """An epoch of the variant `key` on a crowd, ready to run; its checkpoint goes to `folder`."""
    torch.set_num_threads(threads)
    variant = model_named(key, ["Follow"])
    if isinstance(variant, RemVariant):
        training = Training(crowd_events(nodes, events), variant, RemSettings(seeds=SEEDS))

        def learn_and_save() -> None:
            training.epoch(report)
            training.save(folder / "checkpoint.safetensors")

        return learn_and_save
    run = new_run(crowd_stream(nodes, events), variant, TrainingSettings(seeds=SEEDS, epochs=1))
    run.workspace.threads = threads
    return partial(learn, run, folder / "checkpoint.safetensors", report)


def report(line: str) -> None:
    """Say how far it is."""
    print(line, file=sys.stderr, flush=True)


def megabytes() -> int:
    """The most memory that this process has taken."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Run an epoch and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variant", default="dyrep-bilinear")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        epoch = epoch_of(
            arguments.variant, arguments.nodes, arguments.events, arguments.threads, Path(folder)
        )
        before = megabytes()
        clock, processor = timed(epoch)
    figures = {
        "seconds": round(clock, 1),
        "processor_seconds": round(processor, 1),
        "processor_microseconds_per_event": round(1e6 * processor / arguments.events, 1),
        "peak_memory_mb": megabytes(),
        "peak_memory_before_mb": before,
    }
    print(json.dumps({**vars(arguments), **figures}))


if __name__ == "__main__":
    main()

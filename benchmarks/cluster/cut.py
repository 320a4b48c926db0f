"""What cutting a training into groups of seeds gains and costs: time of an event by seeds in a task."""

from functools import partial
from statistics import median

import torch

from benchmarks.training import learn_all, synthetic_stream, timed
from model.identity import TrainingSettings
from model.run import new_run
from pipeline.variants import Variant, model_named

NODES, EVENTS = 284, 1_000
KEYS = ("dyrep-bilinear", "ldg_learned_sparse-bilinear")
SEEDS = (10, 5, 2, 1)


def cut(rounds: int) -> dict[str, dict[int, int]]:
    """Microseconds of processor an event takes in learning, by variant and seeds in a task; medians."""
    torch.set_num_threads(1)
    stream = synthetic_stream(NODES, EVENTS)
    taken: dict[str, dict[int, list[float]]] = {key: {many: [] for many in SEEDS} for key in KEYS}
    for _ in range(rounds):
        for key in KEYS:
            variant = model_named(key, ("Follow",))
            assert isinstance(variant, Variant)
            for many in SEEDS:
                run = new_run(stream, variant, TrainingSettings(seeds=tuple(range(many))))
                batches = range(run.settings.batch, EVENTS + 1, run.settings.batch)
                _, processor = timed(partial(learn_all, run, batches))
                taken[key][many].append(processor / EVENTS * 1e6)
    return {key: {many: round(median(of)) for many, of in by.items()} for key, by in taken.items()}

"""A training cut into groups of seeds, which learn apart and are joined before anything is kept of them.

A seed's numbers do not depend on the seeds beside it. Each group learns to the end of its epochs, with a
checkpoint of its own; joined, these are the checkpoint of the training that was never cut, which has nothing
left to learn and writes its files. Only how wide rows of attention are depends on all seeds: whoever joins
them walks along the stream once, without learning, to see where rows are widened.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor

from model.attention.rows import ABSENT, NOBODY
from model.batches import advance_clocks
from model.checkpoint import CheckpointHeader, read_checkpoint, write_tensors
from model.epochs import Log, learn
from model.identity import TrainingSettings
from model.run import Run, generators, new_run, resume, snapshot_positions
from model.state import initial_state
from model.stream import load_stream
from pipeline.results.trained import CHECKPOINT
from pipeline.variants import Variant

OF_THE_STREAM = ("position", "clock")
EMPTY = {"order": NOBODY, "values": 0.0, "bias": ABSENT}  # what a slot of attention holds that nobody has


def group_checkpoint(folder: Path, seeds: Sequence[int]) -> Path:
    """Where a group of seeds keeps its checkpoint."""
    return folder / f"checkpoint-{seeds[0]}-{seeds[-1]}.safetensors"


def group_checkpoints(folder: Path) -> list[Path]:
    """Those of all groups, of this cut or another."""
    return list(folder.glob("checkpoint-*.safetensors"))


def learn_group(
    dataset_folder: Path,
    variant: Variant,
    settings: TrainingSettings,
    folder: Path,
    log: Log | None,
    threads: int,
) -> bool:
    """Let the seeds of `settings`, a group, learn to the end of their epochs; False if they all stop before.

    Such a group has no end to be joined: the training has to be done uncut.
    """
    torch.set_num_threads(threads)
    run = new_run(load_stream(dataset_folder, variant.relation), variant, settings)
    run.workspace.threads = threads
    path = group_checkpoint(folder, settings.seeds)
    if path.exists():
        resume(run, path)
    try:
        learn(run, path, log)
    except RuntimeError:
        if len(run.stopped) < len(settings.seeds):
            raise
        return False
    return True


def join_groups(
    dataset_folder: Path,
    variant: Variant,
    settings: TrainingSettings,
    groups: Sequence[tuple[int, ...]],
    folder: Path,
) -> None:
    """Write the checkpoint of the training with all seeds from those of its groups; CheckpointError if one
    does not fit.
    """
    stream = load_stream(dataset_folder, variant.relation)
    run = new_run(stream, variant, settings)
    parts = []
    for seeds in groups:
        of_group = new_run(stream, variant, replace(settings, seeds=seeds))
        parts.append(read_checkpoint(group_checkpoint(folder, seeds), of_group.identity))
    tensors = joined([tensors for tensors, _ in parts], slots_along(run))
    header = joined_header(run, [header for _, header in parts])
    write_tensors(tensors, asdict(header), folder / CHECKPOINT)


def slots_along(run: Run) -> dict[int, int]:
    """How many slots the rows of attention have when all seeds learn together, after so many events."""
    stream, settings = run.stream, run.settings
    state = initial_state(stream, run.variant, run.d, generators(settings.seeds, "start"))
    slots = {0: state.attention.order.shape[2]}
    for stop in sorted({*snapshot_positions(stream, settings), *stream.splits}):
        while state.position < stop:
            advance_clocks(stream, run.variant, state, min(state.position + settings.batch, stop))
        slots[stop] = state.attention.order.shape[2]
    return slots


def joined(parts: Sequence[dict[str, Tensor]], slots: dict[int, int]) -> dict[str, Tensor]:
    """The tensors of checkpoints as those of one with all their seeds."""
    tensors = {}
    for name, first in parts[0].items():
        prefix, _, last = name.rpartition(".")
        if last in OF_THE_STREAM:
            tensors[name] = first
        elif prefix.endswith("snapshots"):  # of the first seed alone: (N, C, r)
            tensors[name] = widened(first[None], slots[int(last)], EMPTY["values"])[0]
        elif prefix.endswith("attention") and last in EMPTY:
            there = slots[int(parts[0][f"{prefix.removesuffix('attention')}position"])]
            tensors[name] = torch.cat([widened(part[name], there, EMPTY[last]) for part in parts])
        else:
            tensors[name] = torch.cat([part[name] for part in parts], dim=1 if name == "losses" else 0)
    return tensors


def widened(rows: Tensor, slots: int, empty: float) -> Tensor:
    """Rows of attention (S, N, C, …) with so many slots, further ones empty; those in use are no more."""
    seeds, nodes, present, *types = rows.shape
    wide = rows.new_full((seeds, nodes, slots, *types), empty)
    wide[:, :, :present] = rows[:, :, :slots]
    return wide


def joined_header(run: Run, parts: Sequence[CheckpointHeader]) -> CheckpointHeader:
    """Where all seeds stand, whose groups are through; they count as having learned one after the other."""
    first = parts[0]
    stopped = [entry for part in parts for entry in part.stopped]
    return CheckpointHeader(
        identity=run.identity,
        epoch=first.epoch,
        step=first.step,
        chosen_epoch=[epoch for part in parts for epoch in part.chosen_epoch],
        stopped=sorted(stopped, key=lambda entry: entry["step"]),
        measured=[
            [[mar for period in periods for mar in period] for periods in zip(*of_epoch, strict=True)]
            for of_epoch in zip(*(part.measured for part in parts), strict=True)
        ],
        seconds=sum(part.seconds for part in parts),
    )

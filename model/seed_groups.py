"""Training of seeds in separate groups, whose checkpoints are merged into one.

A seed's results do not depend on the other seeds. Each group trains all its epochs with its own checkpoint.
The merged checkpoint equals that of an undivided training, which then only has to write its files. Only the
width of attention rows depends on all seeds: merging replays the stream once, without training, to find it.
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
EMPTY = {"order": NOBODY, "values": 0.0, "bias": ABSENT}  # contents of an unused attention slot


def group_checkpoint(folder: Path, seeds: Sequence[int]) -> Path:
    """Return the path of a group's checkpoint."""
    return folder / f"checkpoint-{seeds[0]}-{seeds[-1]}.safetensors"


def group_checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints of all groups in `folder`, including other divisions into groups."""
    return list(folder.glob("checkpoint-*.safetensors"))


def learn_group(
    dataset_folder: Path,
    variant: Variant,
    settings: TrainingSettings,
    folder: Path,
    log: Log | None,
    threads: int,
) -> bool:
    """Train the seeds of `settings`, one group, for all epochs; return False if all of them stop early.

    Such a group cannot be merged: the training must run undivided.
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
    """Merge the checkpoints of all groups into one; raise CheckpointError if one does not match."""
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
    """Return the slots per attention row of an undivided training, by stream position."""
    stream, settings = run.stream, run.settings
    state = initial_state(stream, run.variant, run.d, generators(settings.seeds, "start"))
    slots = {0: state.attention.order.shape[2]}
    for stop in sorted({*snapshot_positions(stream, settings), *stream.splits}):
        while state.position < stop:
            advance_clocks(stream, run.variant, state, min(state.position + settings.batch, stop))
        slots[stop] = state.attention.order.shape[2]
    return slots


def joined(parts: Sequence[dict[str, Tensor]], slots: dict[int, int]) -> dict[str, Tensor]:
    """Merge the tensors of the groups' checkpoints; `slots` is the row width by position."""
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
    """Return attention rows (S, N, C, …) padded with `empty` or cut to `slots`; used slots always fit."""
    seeds, nodes, present, *types = rows.shape
    wide = rows.new_full((seeds, nodes, slots, *types), empty)
    wide[:, :, :present] = rows[:, :, :slots]
    return wide


def joined_header(run: Run, parts: Sequence[CheckpointHeader]) -> CheckpointHeader:
    """Merge the headers of finished groups; training seconds are added up."""
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

"""The state of a training in progress, and its checkpoint."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.checkpoint import (
    CheckpointHeader,
    Shape,
    check_shapes,
    of_prefix,
    prefixed,
    read_checkpoint,
    write_tensors,
)
from model.choice import Chosen, by_place, places_of
from model.encoder import Workspace
from model.identity import TrainingSettings, identity
from model.large import rule
from model.parameters import Parameters, initial_parameters, width_of
from model.state import State, initial_state
from model.stream import Stream
from pipeline.variants import Variant


def generators(seeds: tuple[int, ...], purpose: str) -> list[torch.Generator]:
    """Return one generator per seed, distinct for each `purpose`: start, weights, training or ranking."""
    number = ("start", "weights", "training", "ranking").index(purpose)
    return [torch.Generator().manual_seed(seed * 4 + number) for seed in seeds]


@dataclass
class Run:
    """A training in progress: everything that a checkpoint holds."""

    stream: Stream
    variant: Variant
    settings: TrainingSettings
    parameters: Parameters
    moments: tuple[Tensor, Tensor]  # Adam's, (S, P) each
    state: State
    random: list[torch.Generator]
    chosen: Chosen | None = None
    chosen_epoch: list[int | None] = field(default_factory=list)
    epoch: int = 0
    step: int = 0
    stopped: dict[int, dict[str, Any]] = field(default_factory=dict)
    losses: list[Tensor] = field(default_factory=list)  # per step: (S, 3)
    # Per epoch: validation and test MAR of each seed.
    measured: list[list[list[float | None]]] = field(default_factory=list)
    snapshots: dict[int, Tensor] = field(default_factory=dict)  # position: S of the first seed (N, C, r)
    seconds: float = 0.0
    workspace: Workspace = field(default_factory=Workspace)

    @property
    def alive(self) -> Tensor:
        """Mask of the seeds that have not stopped: (S) bool."""
        return torch.tensor([seed not in self.stopped for seed in self.settings.seeds])

    @property
    def identity(self) -> dict[str, Any]:
        """The identity that a checkpoint or finished folder of this training must match."""
        return identity(self.stream.name, self.stream.fingerprint, self.variant, self.settings)

    @property
    def d(self) -> int:
        """The embedding's width."""
        return width_of(self.variant, self.settings.d)


def new_run(stream: Stream, variant: Variant, settings: TrainingSettings) -> Run:
    """Return a training before its first step; raise ValueError if the network is too large for `variant`."""
    if rule.is_large(stream.nodes) and not variant.is_recurrent:
        raise ValueError(
            f"{variant.key} takes networks of up to {rule.LARGE:,} nodes, {stream.name!r} has "
            f"{stream.nodes:,}: graph networks pass over all pairs; DyRep, LDG and REM take it"
        )
    if rule.is_large(stream.nodes) and variant.attention not in rule.COMPILED_ATTENTIONS:
        raise ValueError(
            f"{variant.key} has the attention {variant.attention!r}, which takes networks of up to "
            f"{rule.LARGE:,} nodes, {stream.name!r} has {stream.nodes:,}: the engine for larger networks has "
            f"kernels for {', '.join(rule.COMPILED_ATTENTIONS)}; train on fewer nodes, or choose one of these"
        )
    d = width_of(variant, settings.d)
    parameters = initial_parameters(variant, d, generators(settings.seeds, "weights"))
    return Run(
        stream=stream,
        variant=variant,
        settings=settings,
        parameters=parameters,
        moments=(torch.zeros_like(parameters.flat), torch.zeros_like(parameters.flat)),
        state=initial_state(stream, variant, d, generators(settings.seeds, "start")),
        random=generators(settings.seeds, "training"),
        chosen_epoch=[None] * len(settings.seeds),
    )


def branch_of(run: Run) -> Run:
    """Return a copy of `run` to train further independently; only the record of stopped seeds is shared."""
    return replace(
        run,
        parameters=Parameters(run.parameters.shapes, run.parameters.flat.clone()),
        moments=(run.moments[0].clone(), run.moments[1].clone()),
        state=run.state.of_seeds(list(range(len(run.settings.seeds)))),
        random=[generator.clone_state() for generator in run.random],
        losses=[],
        snapshots=dict(run.snapshots),
    )


def snapshot_positions(stream: Stream, settings: TrainingSettings) -> list[int]:
    """Return the positions of attention snapshots: ends of batches, evenly spaced before the test period.

    Excludes position 0 and the test start, which are stored separately. Empty for a large network.
    """
    if rule.is_large(stream.nodes):
        return []
    validation, test = stream.splits
    batch = settings.batch
    ends = [*range(batch, validation, batch), validation, *range(validation + batch, test, batch), test]
    wanted = np.linspace(0, test, settings.snapshots)[1:-1]
    return sorted({ends[place] for place in np.searchsorted(ends, wanted)} - {test})


def save_run(run: Run, path: Path) -> None:
    """Write a checkpoint; `resume` continues from it bit-identically."""
    tensors = {
        "parameters": run.parameters.flat,
        "first_moment": run.moments[0],
        "second_moment": run.moments[1],
        "random": torch.stack([generator.get_state() for generator in run.random]),
        "losses": torch.stack(run.losses) if run.losses else torch.zeros(0),
        **prefixed("state.", run.state.tensors()),
        **prefixed("snapshots.", by_place(run.snapshots)),
        **prefixed("chosen.", run.chosen.tensors() if run.chosen else {}),
    }
    header = {
        "identity": run.identity,
        "epoch": run.epoch,
        "step": run.step,
        "chosen_epoch": run.chosen_epoch,
        "stopped": [{"seed": seed, **reason} for seed, reason in run.stopped.items()],
        "measured": run.measured,
        "seconds": run.seconds,
    }
    write_tensors(tensors, header, path)


def resume(run: Run, path: Path) -> None:
    """Restore a new `run` from the checkpoint; raise CheckpointError if it does not match."""
    tensors, header = read_checkpoint(path, run.identity)
    position = tensors.get("state.position", torch.tensor(0))
    check_shapes(tensors, checkpoint_shapes(run, header, int(position.sum())), path)
    run.parameters = Parameters(run.parameters.shapes, tensors["parameters"])
    run.moments = tensors["first_moment"], tensors["second_moment"]
    for generator, state in zip(run.random, tensors["random"], strict=True):
        generator.set_state(state.clone())
    run.losses = list(tensors["losses"])
    run.state = State.from_tensors(of_prefix("state.", tensors))
    run.snapshots = places_of(of_prefix("snapshots.", tensors))
    if chosen := of_prefix("chosen.", tensors):
        run.chosen = Chosen.from_tensors(chosen)
    run.epoch, run.step, run.measured = header.epoch, header.step, header.measured
    run.chosen_epoch, run.seconds = header.chosen_epoch, header.seconds
    run.stopped = {entry.pop("seed"): entry for entry in header.stopped}


def checkpoint_shapes(run: Run, header: CheckpointHeader, position: int) -> dict[str, Shape]:
    """Return the expected dtype and shape of every tensor in a checkpoint.

    `run` is new; the training's progress is given by `header` and the stream `position`.
    """
    flat, seeds = run.parameters.flat, len(run.settings.seeds)
    weights = flat.dtype, tuple(flat.shape)
    places = snapshot_positions(run.stream, run.settings) if run.variant.is_recurrent else []
    random = run.random[0].get_state()
    shapes: dict[str, Shape] = {
        "parameters": weights,
        "first_moment": weights,
        "second_moment": weights,
        "random": (random.dtype, (seeds, len(random))),
        "losses": (torch.float32, (header.step, seeds, 3) if header.step else (0,)),
        **state_shapes("state.", run.state),
        **snapshot_shapes("snapshots.", run.state, [at for at in places if at <= position]),
    }
    if header.epoch:
        for period in ("validation", "test"):
            shapes[f"chosen.{period}.weights"] = weights
            shapes |= state_shapes(f"chosen.{period}.state.", run.state)
        shapes |= snapshot_shapes("chosen.snapshots.", run.state, places)
    return shapes


def state_shapes(prefix: str, state: State) -> dict[str, Shape]:
    """Return the shapes of a state's tensors; sizes that grow with the stream (slots, entries) are names."""
    shapes: dict[str, Shape] = {}
    for name, tensor in state.tensors().items():
        sizes: list[int | str] = list(tensor.shape)
        if name in {"attention.order", "attention.values", "attention.bias"}:
            sizes[2] = f"{prefix}slots"
        elif name in {"attention.node", "attention.value", "attention.near"}:
            sizes[0] = f"{prefix}entries"
        shapes[prefix + name] = tensor.dtype, tuple(sizes)
    return shapes


def snapshot_shapes(prefix: str, state: State, places: list[int]) -> dict[str, Shape]:
    """Return the shapes of attention snapshots at `places`; empty for a large network."""
    if state.is_large:
        return {}
    values = state.attention.values
    _, nodes, _, edge_types = values.shape
    return {f"{prefix}{at}": (values.dtype, (nodes, f"slots of {prefix}{at}", edge_types)) for at in places}

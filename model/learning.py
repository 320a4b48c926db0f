"""Learning: all seeds of a variant in one batched run, epoch by epoch, resumable from a checkpoint."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.batches import draw_chance
from model.checkpoint import (
    CheckpointHeader,
    Shape,
    check_shapes,
    of_prefix,
    prefixed,
    read_checkpoint,
    write_tensors,
)
from model.choice import Chosen, Learned, by_place, places_of
from model.encoder import Workspace
from model.forward import advance_in_batches, advance_state
from model.identity import TrainingSettings, identity
from model.parameters import Parameters, initial_parameters, width_of
from model.ranking import Frequencies, rank_events
from model.state import State, initial_state
from model.stream import COMMUNICATION, Stream
from pipeline.progress import Progress
from pipeline.variants import Variant

RATE_RANGE = (0.1, 1000.0)
Log = Callable[[str], None]


def generators(seeds: tuple[int, ...], purpose: str) -> list[torch.Generator]:
    """One generator per seed for a purpose (`start`, `weights`, `training`, `ranking`) of its own."""
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
        """Which seeds go on: (S) bool."""
        return torch.tensor([seed not in self.stopped for seed in self.settings.seeds])

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint or a finished folder must agree on to be this training's."""
        return identity(self.stream.name, self.stream.fingerprint, self.variant, self.settings)

    @property
    def d(self) -> int:
        """The embedding's width."""
        return width_of(self.variant, self.settings.d)


def new_run(stream: Stream, variant: Variant, settings: TrainingSettings) -> Run:
    """A training before its first step."""
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


def learn(run: Run, checkpoint: Path, log: Log | None) -> None:
    """All epochs that are left, with a checkpoint every few minutes and after each epoch."""
    stream, settings = run.stream, run.settings
    validation, test = stream.splits
    started = time.monotonic()
    saved, before = started, run.seconds

    def keep() -> None:
        nonlocal saved
        run.seconds = before + time.monotonic() - started
        save(run, checkpoint)
        saved = time.monotonic()

    # An epoch passes the validation period twice: ranked, and learned from.
    left = (settings.epochs - run.epoch) * (len(stream) + test - validation) - run.state.position
    with Progress(f"train {run.variant.key}", left, "events", log) as progress:
        while run.epoch < settings.epochs:
            while run.state.position < validation:
                learn_next(run, validation, progress)
                if time.monotonic() - saved >= settings.checkpoint_minutes * 60:
                    keep()
            measure(run, progress)
            run.epoch += 1
            run.snapshots = {}
            run.state = initial_state(stream, run.variant, run.d, generators(settings.seeds, "start"))
            keep()


def learn_next(run: Run, end: int, progress: Progress) -> None:
    """Learn from the next batch of events before `end`; keep a snapshot of attention where one is wanted."""
    start = run.state.position
    stop = min(start + run.settings.batch, end)
    learn_batch(run, stop)
    if run.variant.is_recurrent and stop in snapshot_positions(run.stream, run.settings):
        run.snapshots[stop] = run.state.attention.values[0].clone()
    progress.advance(stop - start, loss_note(run))


def learn_batch(run: Run, stop: int) -> None:
    """One optimizer step on the events up to `stop`; seeds whose loss or gradient is not finite stop."""
    start = run.state.position
    flat = run.parameters.flat.detach().requires_grad_()
    chance = draw_chance(run.stream, run.variant, start, stop, run.random, noisy=True)
    named = run.parameters.views(flat)
    outcome = advance_state(
        run.stream, run.variant, named, run.state, stop, chance, run.workspace, learn=True
    )
    losses = torch.stack([outcome.events, outcome.non_events, outcome.kl], dim=1) / (stop - start)  # (S, 3)
    (gradient,) = torch.autograd.grad(losses.sum(), flat)
    run.step += 1
    fine = losses.detach().isfinite().all(1) & gradient.isfinite().all(1)
    for row in torch.nonzero(run.alive & ~fine).flatten().tolist():
        stop_seed(run, row, start, stop, losses[row].detach(), gradient[row])
    if len(run.stopped) == len(run.settings.seeds):
        raise RuntimeError(f"every seed of {run.variant.key} stopped: {run.stopped}")
    run.losses.append(torch.where(run.alive[:, None], losses.detach(), float("nan")))
    adam_step(run, gradient)


def stop_seed(run: Run, row: int, start: int, stop: int, losses: Tensor, gradient: Tensor) -> None:
    """Remember why a seed stopped; its weights stay those of its last good step."""
    run.stopped[run.settings.seeds[row]] = {
        "reason": "loss is not finite" if not losses.isfinite().all() else "gradient is not finite",
        "epoch": run.epoch + 1,
        "step": run.step,
        "events": [start, stop],
        "losses": [str(loss) for loss in losses.tolist()],
        "not_finite": [
            name for name, part in run.parameters.views(gradient[None]).items() if not part.isfinite().all()
        ],
        "parameter_ranges": {
            name: [float(part[row].min()), float(part[row].max())]
            for name, part in run.parameters.named.items()
        },
    }


def adam_step(run: Run, gradient: Tensor) -> None:
    """Adam on all seeds that go on, at once; the encoder's weights decay, ψ stays in its range."""
    settings, flat = run.settings, run.parameters.flat
    first, second = run.moments
    beta1, beta2 = settings.betas
    alive = run.alive[:, None]
    gradient = torch.where(alive, gradient, 0.0).clamp(-settings.clip, settings.clip)
    if run.variant.is_sampled:
        gradient = gradient + settings.encoder_weight_decay * run.parameters.mask("encoder.") * flat
    first.mul_(beta1).add_(gradient, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    size = settings.learning_rate / (1 - beta1**run.step)
    spread = (second / (1 - beta2**run.step)).sqrt_().add_(1e-8)
    flat.sub_(torch.where(alive, size * first / spread, 0.0))
    run.parameters.named["intensity.rate"].clamp_(*RATE_RANGE)


def loss_note(run: Run) -> str:
    """The last step's loss terms, averaged over the seeds that go on."""
    events, non_events, kl = run.losses[-1][run.alive].mean(0).tolist()
    return f"epoch {run.epoch + 1}, loss {events:.3f} events {non_events:.3f} non-events {kl:.3f} KL"


def measure(run: Run, progress: Progress) -> None:
    """Validation and test MAR after an epoch; each seed chooses the epoch with its best validation MAR.

    Both are ranked with the state as it was left by learning, carried on. Before the test period, learning
    goes on through the validation period, on a branch: the next epoch has never seen those events.
    """
    stream = run.stream
    branch = branch_of(run)
    while branch.state.position < stream.splits[1]:
        learn_next(branch, stream.splits[1], progress)
    now = Chosen(
        Learned(run.parameters.flat.clone(), run.state),
        Learned(branch.parameters.flat, branch.state),
        branch.snapshots,
    )
    mar_of = []
    for learned, stop in ((now.validation, stream.splits[1]), (now.test, len(stream))):
        start = learned.state.position
        ranks = rank_until(run, learned, stop, run.settings.seeds, progress)
        communications = torch.from_numpy(stream.k[start:stop] == COMMUNICATION)
        mar = ranks[:, communications].mean((1, 2))
        pairs = zip(run.alive.tolist(), mar.tolist(), strict=True)
        mar_of.append([value if alive and np.isfinite(value) else None for alive, value in pairs])
    run.measured.append(mar_of)
    run.chosen = run.chosen or now
    for row, (alive, value) in enumerate(zip(run.alive.tolist(), mar_of[0], strict=True)):
        earlier = [measured[0][row] for measured in run.measured[:-1]]
        if alive and (value is None or all(other is None or value < other for other in earlier)):
            run.chosen_epoch[row] = run.epoch + 1
            run.chosen.take(now, row)


def branch_of(run: Run) -> Run:
    """A run that goes on from here by itself; only seeds that stop in it stop in `run`, too."""
    return replace(
        run,
        parameters=Parameters(run.parameters.shapes, run.parameters.flat.clone()),
        moments=(run.moments[0].clone(), run.moments[1].clone()),
        state=run.state.of_seeds(list(range(len(run.settings.seeds)))),
        random=[generator.clone_state() for generator in run.random],
        losses=[],
        snapshots=dict(run.snapshots),
    )


def rank_until(
    run: Run,
    learned: Learned,
    stop: int,
    seeds: tuple[int, ...],
    progress: Progress,
    frequencies: Frequencies | None = None,
) -> Tensor:
    """Ranks (S, E, 2) of the events from what was learned to `stop`; `learned` stays as it is."""
    parameters = Parameters(run.parameters.shapes, learned.weights)
    state = learned.state.of_seeds(list(range(len(seeds))))
    return carry_and_rank(run, parameters, state, stop, generators(seeds, "ranking"), progress, frequencies)


def carry_and_rank(
    run: Run,
    parameters: Parameters,
    state: State,
    stop: int,
    random: list[torch.Generator],
    progress: Progress,
    frequencies: Frequencies | None = None,
) -> Tensor:
    """Carry `state` to `stop` without learning; ranks (S, E, 2) of the events on the way."""
    ranks = [torch.zeros(len(parameters.flat), 0, 2)]
    stream, size = run.stream, run.settings.batch
    with torch.no_grad():
        for seen in advance_in_batches(
            stream, run.variant, parameters.named, state, stop, random, size, run.workspace
        ):
            of_batch = rank_events(
                seen.versions, seen.batch, seen.symmetric, seen.rate, state.survival, frequencies
            )
            ranks.append(of_batch.float())
            progress.advance(len(seen.batch), "ranking")
    return torch.cat(ranks, dim=1)


def snapshot_positions(stream: Stream, settings: TrainingSettings) -> list[int]:
    """After how many events attention is kept: evenly up to the test period, at the ends of batches. The
    first and the last are apart.
    """
    validation, test = stream.splits
    batch = settings.batch
    ends = [*range(batch, validation, batch), validation, *range(validation + batch, test, batch), test]
    wanted = np.linspace(0, test, settings.snapshots)[1:-1]
    return sorted({ends[place] for place in np.searchsorted(ends, wanted)} - {test})


def save(run: Run, path: Path) -> None:
    """Write a checkpoint that `resume` goes on from bit by bit."""
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
    """Put `run`, which is before its first step, where the checkpoint left it."""
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
    """What a checkpoint holds of `run`, which is before its first step, where the training stands at `header`
    and after `position` events of the stream.
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
    """The shapes of a state like this one; attention's slots grow with the stream."""
    shapes: dict[str, Shape] = {}
    for name, tensor in state.tensors().items():
        sizes: list[int | str] = list(tensor.shape)
        if name in {"attention.order", "attention.values", "attention.bias"}:
            sizes[2] = f"{prefix}slots"
        shapes[prefix + name] = tensor.dtype, tuple(sizes)
    return shapes


def snapshot_shapes(prefix: str, state: State, places: list[int]) -> dict[str, Shape]:
    """The shapes of snapshots of attention at `places`."""
    values = state.attention.values
    _, nodes, _, edge_types = values.shape
    return {f"{prefix}{at}": (values.dtype, (nodes, f"slots of {prefix}{at}", edge_types)) for at in places}

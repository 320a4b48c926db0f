"""The training loop for all seeds at once: optimizer steps and evaluation of each epoch."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from model.batches import draw_chance
from model.choice import Chosen, Learned
from model.forward import advance_state
from model.ranking import rank_until
from model.run import Run, branch_of, generators, save_run, snapshot_positions
from model.state import initial_state
from model.stream import COMMUNICATION
from pipeline.progress import Progress

RATE_RANGE = (0.1, 1000.0)
Log = Callable[[str], None]


def learn(run: Run, checkpoint: Path, log: Log | None) -> None:
    """Train the remaining epochs; write a checkpoint every few minutes and after each epoch."""
    stream, settings = run.stream, run.settings
    validation, test = stream.splits
    started = time.monotonic()
    saved, before = started, run.seconds

    def keep() -> None:
        nonlocal saved
        run.seconds = before + time.monotonic() - started
        save_run(run, checkpoint)
        saved = time.monotonic()

    # An epoch processes the validation period twice: once to rank, once to train.
    left = (settings.epochs - run.epoch) * (len(stream) + test - validation) - run.state.position
    with Progress(f"train {run.variant.key}", left, "events", log) as progress:
        while run.epoch < settings.epochs:
            while run.state.position < validation:
                learn_next(run, validation, progress)
                if time.monotonic() - saved >= settings.checkpoint_minutes * 60:
                    keep()
            measure(run, progress)
            run.epoch += 1
            keep()


def learn_next(run: Run, end: int, progress: Progress) -> None:
    """Train on the next batch before `end`; store an attention snapshot at snapshot positions."""
    start = run.state.position
    stop = min(start + run.settings.batch, end)
    learn_batch(run, stop)
    if run.variant.is_recurrent and stop in snapshot_positions(run.stream, run.settings):
        run.snapshots[stop] = run.state.attention.values[0].clone()
    progress.advance(stop - start, loss_note(run))


def learn_batch(run: Run, stop: int) -> None:
    """Take one optimizer step on the events up to `stop`; stop seeds with a non-finite loss or gradient.

    Raise RuntimeError if every seed has stopped."""
    start = run.state.position
    flat = run.parameters.flat.detach().requires_grad_()
    chance = draw_chance(
        run.stream, run.variant, start, stop, run.random, noisy=True, senders=run.settings.senders
    )
    named = run.parameters.views(flat)
    advance = advance_state
    if run.state.is_large:
        from model.large.advance import advance_large as advance  # imported lazily: compiles with numba
    outcome = advance(run.stream, run.variant, named, run.state, stop, chance, run.workspace, learn=True)
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
    """Record why a seed stopped; its weights stay those of its last finite step."""
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
    """Apply Adam to all active seeds, with weight decay for the encoder and ψ clamped to RATE_RANGE."""
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
    """Format the last step's loss terms, averaged over active seeds."""
    events, non_events, kl = run.losses[-1][run.alive].mean(0).tolist()
    return f"epoch {run.epoch + 1}, loss {events:.3f} events {non_events:.3f} non-events {kl:.3f} KL"


def measure(run: Run, progress: Progress) -> None:
    """Compute validation and test MAR of an epoch; keep the epoch with the best validation MAR per seed.

    Ranking continues from the state that training left. For the test period, a branch of the run is first
    trained on the validation period, so that the next epoch does not see those events. The run's own state
    is reset for the next epoch. States of large networks are large: unused ones are freed early.
    """
    stream, seeds = run.stream, run.settings.seeds
    validated = Learned(run.parameters.flat.clone(), run.state)
    mar = mean_ranks(run, validated, stream.splits[1], progress)
    branch = branch_of(run)
    run.state = initial_state(stream, run.variant, run.d, generators(seeds, "start"))
    run.snapshots = {}
    while branch.state.position < stream.splits[1]:
        learn_next(branch, stream.splits[1], progress)
    tested = Learned(branch.parameters.flat, branch.state)
    now = Chosen(validated, tested, branch.snapshots)
    run.chosen = run.chosen or now
    validation_mar = of_alive(run, mar)  # a seed may have stopped on the branch
    for row, (alive, value) in enumerate(zip(run.alive.tolist(), validation_mar, strict=True)):
        earlier = [measured[0][row] for measured in run.measured]
        if alive and (value is None or all(other is None or value < other for other in earlier)):
            run.chosen_epoch[row] = run.epoch + 1
            run.chosen.take(now, row)
    del validated, now
    test_mar = of_alive(run, mean_ranks(run, tested, len(stream), progress))
    run.measured.append([validation_mar, test_mar])


def mean_ranks(run: Run, learned: Learned, stop: int, progress: Progress) -> list[float]:
    """Return each seed's MAR on the ranked communications from the learned state's position to `stop`."""
    start = learned.state.position
    ranks = rank_until(run, learned, stop, run.settings.seeds, progress)
    communications = torch.from_numpy(run.stream.k[start:stop] == COMMUNICATION)
    return ranks[:, communications & ~ranks[0, :, 0].isnan()].mean((1, 2)).tolist()


def of_alive(run: Run, mar: list[float]) -> list[float | None]:
    """Return MAR per seed, None for stopped seeds and non-finite values."""
    pairs = zip(run.alive.tolist(), mar, strict=True)
    return [value if alive and np.isfinite(value) else None for alive, value in pairs]

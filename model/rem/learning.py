"""Training of a relational-event model's weights on a period of a stream."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import cos, pi

import numpy as np
import torch
from torch import Tensor

from model.history.events import Events
from model.history.reading import Pass
from model.history.standard import Standard
from model.rem.candidates import draw_candidates
from model.rem.loss import conditional_logit
from model.rem.network import Layout, dropout_masks, initial_weights, log_intensities, log_intensity
from model.rem.settings import RemSettings
from model.stream import COMMUNICATION, Stream
from pipeline.rem_variants import RemVariant

READ_AT_ONCE = 100  # events per read; their statistics are then stored at half precision
MOST_SHUFFLED = 65_536  # up to so many events, an epoch is shuffled as a whole
PIECE = 8_192  # beyond that, it is shuffled in pieces of so many
MOST_STANDARDIZED = 8_192  # events used for means and deviations, at most


@dataclass(frozen=True)
class Sample:
    """Standardized statistics of a piece of an epoch: events and candidates, and which pairs have a past."""

    x: np.ndarray  # (M, 2, 1 + C, F) float16
    met: np.ndarray  # (M, 2, 1 + C) bool


@dataclass
class Fit:
    """Training state: everything that the next epoch needs."""

    weights: dict[str, Tensor]  # (S, …)
    averaged: dict[str, Tensor]
    moments: dict[str, tuple[Tensor, Tensor]]  # of AdamW
    steps: int = 0
    epoch: int = 0
    standard: Standard | None = None
    losses: list[np.ndarray] = field(default_factory=list)  # (S) per step


def new_fit(layout: Layout, settings: RemSettings) -> Fit:
    """Return the training state before the first step."""
    weights = initial_weights(layout, settings.seeds)
    return Fit(
        weights,
        {name: tensor.clone() for name, tensor in weights.items()},
        {name: (torch.zeros_like(tensor), torch.zeros_like(tensor)) for name, tensor in weights.items()},
    )


def events_to_learn(stream: Stream, settings: RemSettings, end: int) -> np.ndarray:
    """Return positions of the events before `end` to learn from, without the first, whose past is short."""
    return learned_events(stream, min(settings.silent, end // 10), end)


def pieces_of(events: int) -> list[slice]:
    """Return the pieces in which an epoch is shuffled: one, or several to bound memory."""
    size = max(events, 1) if events <= MOST_SHUFFLED else PIECE
    return [slice(start, min(start + size, events)) for start in range(0, events, size)]


def take_standard(fit: Fit, events: Events, variant: RemVariant, settings: RemSettings, end: int) -> None:
    """Set means and deviations of `fit` from events before `end`, if it has none yet."""
    if fit.standard is None:
        fit.standard = Standard.of(spread_sample(events, variant, settings, end))


def make_samples(
    events: Events, variant: RemVariant, settings: RemSettings, layout: Layout, fit: Fit, end: int
) -> Iterator[Sample]:
    """Yield the samples of the next epoch of `fit`, piece by piece along the stream.

    They hold events before `end` with the candidates of that epoch; `fit` must have its standard.
    """
    assert fit.standard is not None
    reading = Pass(events, by_role=variant.by_role, standard=fit.standard)
    stream = events.stream
    positions = events_to_learn(stream, settings, end)
    random = np.random.default_rng([fit.epoch, 2_013])
    for piece in pieces_of(len(positions)):
        yield read_sample(reading, positions[piece], settings, layout, random)


def read_sample(
    reading: Pass, positions: np.ndarray, settings: RemSettings, layout: Layout, random: np.random.Generator
) -> Sample:
    """Read statistics of the events at `positions` and of drawn candidates, at half precision."""
    stream = reading.events.stream
    shape = (len(positions), 2, 1 + min(settings.candidates, stream.nodes - 2))
    sample = Sample(np.empty((*shape, len(layout.columns)), np.float16), np.empty(shape, bool))
    # torch rounds to half precision many times faster than numpy, with the same result
    half_precision = torch.from_numpy(sample.x)
    for start in range(0, len(positions), READ_AT_ONCE):
        part = slice(start, start + READ_AT_ONCE)
        candidates = draw_candidates(stream, positions[part], settings.candidates, random)
        x, sample.met[part] = reading.read(int(positions[part][-1]) + 1, positions[part], candidates)
        half_precision[part] = torch.from_numpy(layout.inputs_of(x))
    return sample


def spread_sample(events: Events, variant: RemVariant, settings: RemSettings, end: int) -> np.ndarray:
    """Read statistics of every eighth event to learn from, or fewer, to estimate means and deviations."""
    reading = Pass(events, by_role=variant.by_role)
    positions = events_to_learn(events.stream, settings, end)
    positions = positions[:: max(8, -(-len(positions) // MOST_STANDARDIZED))]
    candidates = draw_candidates(events.stream, positions, settings.candidates, np.random.default_rng(7))
    return reading.read(end, positions, candidates).x


def ahead(samples: Iterator[Sample]) -> Iterator[Sample]:
    """Yield `samples`, computing the next one in another thread while the caller uses one."""

    def following() -> Sample | None:
        return next(samples, None)

    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(following)
        while (sample := coming.result()) is not None:
            coming = thread.submit(following)
            yield sample


def rate_at(step: int, steps: int, settings: RemSettings) -> float:
    """Return the learning rate of a one-cycle schedule: cosine warm-up, then cosine decay to 0."""
    top = settings.warm_up * steps
    if step < top:
        low = 1 / 25
        return settings.learning_rate * (low + (1 - low) * (1 - cos(pi * step / top)) / 2)
    return settings.learning_rate * (1 + cos(pi * (step - top) / max(steps - top, 1))) / 2


def learn_epoch(
    fit: Fit,
    samples: Iterable[Sample],
    events: int,
    layout: Layout,
    settings: RemSettings,
    advance: Callable[[int, str], None],
) -> None:
    """Train on `events` in pieces, each shuffled separately, with one AdamW step per batch."""
    per_epoch = sum(-(-(piece.stop - piece.start) // settings.batch) for piece in pieces_of(events))
    random = np.random.default_rng([fit.epoch, 84])
    generators = [
        torch.Generator().manual_seed((seed + 1) * 1_000_003 + fit.epoch) for seed in settings.seeds
    ]
    for sample in samples:
        order = random.permutation(len(sample.x))
        for start in range(0, len(order), settings.batch):
            rows = np.sort(order[start : start + settings.batch])
            rate = rate_at(fit.steps, per_epoch * settings.epochs, settings)
            losses = learn_rem_batch(
                fit, sample.x[rows], sample.met[rows], layout, settings, rate, generators
            )
            fit.losses.append(losses)
            advance(len(rows), f"loss {losses.mean():.3f}")
    fit.epoch += 1


def learn_rem_batch(
    fit: Fit,
    x: np.ndarray,
    met: np.ndarray,
    layout: Layout,
    settings: RemSettings,
    rate: float,
    generators: list[torch.Generator],
) -> np.ndarray:
    """Take one AdamW step on a batch: `x` (B, 2, 1 + C, F) with the truth first, `met` (B, 2, 1 + C).

    `generators` draw the dropout of each seed. Return the loss before the step, (S).
    """
    for tensor in fit.weights.values():
        tensor.requires_grad_()
    drop = dropout_masks(layout, met.size, int(met.sum()), settings.dropout, generators)
    rows = torch.from_numpy(x).float().flatten(0, 2)  # (B · 2 · (1 + C), F)
    parts = log_intensities(fit.weights, layout, rows, torch.from_numpy(met).flatten(), drop)
    losses = conditional_logit(log_intensity(parts).unflatten(1, met.shape))
    losses.sum().backward()
    step(fit, rate, settings)
    fit.weights = {name: tensor.detach() for name, tensor in fit.weights.items()}
    # Copy: keeping the tensor's own memory alive among short-lived ones would fragment the heap.
    return losses.detach().numpy().copy()


@torch.no_grad()
def step(fit: Fit, rate: float, settings: RemSettings) -> None:
    """Take one AdamW step (β = .9, .999), element by element, so that seeds stay independent."""
    fit.steps += 1
    for name, tensor in fit.weights.items():
        gradient = tensor.grad
        assert gradient is not None
        mean, square = fit.moments[name]
        mean.lerp_(gradient, 0.1)
        square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        tensor.mul_(1 - rate * settings.weight_decay)
        scale = (square / (1 - 0.999**fit.steps)).sqrt_().add_(1e-8)
        tensor.addcdiv_(mean, scale, value=-rate / (1 - 0.9**fit.steps))
        tensor.grad = None
        fit.averaged[name].lerp_(tensor, 1 - min(settings.averaging, 1 - 1 / fit.steps))


def learned_events(stream: Stream, begin: int, end: int) -> np.ndarray:
    """Return the positions of the communications in `[begin, end)`."""
    return begin + np.flatnonzero(stream.k[begin:end] == COMMUNICATION)

"""Scheduling of events: layers of independent events, spread over threads.

Results are bit-identical to sequential processing, because each event reads the same inputs.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from model.large.arrays import Form, Gradients, Tape, Weights
from model.large.backward import backward_event
from model.large.compiled import compiled
from model.large.felt import Felt
from model.large.forward import forward_event
from model.large.layout import Plan
from model.large.pages import Pool


@compiled
def forward_layer(
    events: np.ndarray,
    kinds: np.ndarray,
    pool: Pool,
    plan: Plan,
    weights: Weights,
    form: Form,
    tape: Tape,
) -> None:
    """Run the forward pass of `events`, in this order."""
    for b in events:
        forward_event(b, kinds[b], pool, plan, weights, form, tape)


@compiled
def backward_layer(
    events: np.ndarray,
    plan: Plan,
    felt: Felt,
    weights: Weights,
    form: Form,
    tape: Tape,
    grads: Gradients,
) -> None:
    """Run the backward pass of `events`, in this order."""
    for b in events:
        backward_event(b, plan, felt, weights, form, tape, grads)


def layers_of(plan: Plan) -> list[np.ndarray]:
    """Return the events of each layer; no event reads a row written by another of its layer."""
    return np.split(np.argsort(plan.layer, kind="stable"), np.cumsum(np.bincount(plan.layer))[:-1])


def run_layers(layers: list[np.ndarray], work: Callable[[np.ndarray], None], threads: int) -> None:
    """Run `work` layer by layer, the events of each spread over threads; compiled work releases the GIL."""
    with ThreadPoolExecutor(threads) as pool:
        for layer in layers:
            for _ in pool.map(work, np.array_split(layer, min(threads, len(layer)))):
                pass

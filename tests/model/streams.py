"""Random streams for tests: repeats, ties in time, isolated nodes, both kinds of events."""

from datetime import datetime

import numpy as np

from model.stream import Stream

# Seeds of six events on five nodes: either half holds both kinds, pairs repeat, and moments tie.
EVENTFUL = (1, 3, 5, 21, 27, 28, 33, 39)


def random_stream(
    seed: int, nodes: int = 6, events: int = 14, active: int | None = None, features: bool = False
) -> Stream:
    """A small stream whose nodes from `active` on never interact."""
    rng = np.random.default_rng(seed)
    active = active or nodes - 1
    u = rng.integers(0, active, events)
    v = (u + rng.integers(1, active, events)) % active
    again = rng.random(events) < 0.3
    again[0] = False
    for event in np.nonzero(again)[0]:
        u[event], v[event] = v[event - 1], u[event - 1]
    steps = rng.choice([0.0, 0.0, 37.0, 5000.0, 400000.0], events)
    steps[0] = 0.0
    associated = np.triu(rng.random((nodes, nodes)) < 0.25, 1)
    associated[:, active:] = False
    return Stream(
        name="random",
        fingerprint=f"random-{seed}",
        nodes=nodes,
        u=u,
        v=v,
        k=(rng.random(events) < 0.7).astype(np.int64),
        seconds=np.cumsum(steps),
        start=datetime(2013, 1, 1),
        idx=np.arange(events),
        splits=(max(events - 6, 1), max(events - 3, 1)),
        associations=np.argwhere(associated),
        features=rng.random((nodes, 3)).astype(np.float32) if features else None,
    )


def eventful_stream(number: int, *, features: bool = False) -> Stream:
    """One of the smallest streams on which two batches meet all that can happen; any `number` names one."""
    return random_stream(EVENTFUL[number % len(EVENTFUL)], nodes=5, events=6, features=features)

"""Statistics along paths, from one node to all others at once.

Along a→b, with f the fading sum of a pair and F of a node: p = f/F(a as actor), the share of b in what a
does, and q = f/F(b as target), the share of a in what b receives. Every sum runs over the latest `REACH`
partners of each node on the way, so that its cost is bounded however long the stream and large the network.
"""

import numpy as np

from model.history.compiled import compiled
from model.history.moment import Moment
from model.history.state import IN, NONE, OUT, PATH_TAUS, PATHS, TAUS, TIES_IN, TIES_OUT, History

REACH = 128
FIRST = len(TAUS) - PATH_TAUS
(
    CHAIN,
    CHAIN_RECEIVED,
    ALIKE_ACTORS,
    ALIKE_TARGETS,
    SHARED_ACTOR,
    SHARED_TARGET,
    LEADS,
    LEADS_RECEIVED,
    FANS,
) = range(0, len(PATHS) * PATH_TAUS, PATH_TAUS)  # the first column of each
TIED_TWICE = len(PATHS) * PATH_TAUS
COMMON = TIED_TWICE + 1


@compiled
def spread(
    history: History, node: int, lane: int, opposite: int, weight: np.ndarray, out: np.ndarray, column: int
) -> None:
    """Add weight · f to everyone in a node's list `lane`, f that of its slots or of the opposite ones.

    `weight` holds those of one path or of several in columns beside each other.
    """
    slot, steps = history.head[node, lane], 0
    while slot != NONE and steps < REACH:
        end, edge = history.target[slot], slot ^ opposite
        for path in range(0, len(weight), PATH_TAUS):
            for tau in range(PATH_TAUS):
                out[end, column + path + tau] += weight[path + tau] * history.fade[edge, FIRST + tau]
        slot, steps = history.after[slot, lane], steps + 1


@compiled
def reach(history: History, node: int, lane: int, amount: np.ndarray, out: np.ndarray, column: int) -> None:
    """Add `amount` to everyone in a node's list `lane`."""
    slot, steps = history.head[node, lane], 0
    while slot != NONE and steps < REACH:
        for at in range(len(amount)):
            out[history.target[slot], column + at] += amount[at]
        slot, steps = history.after[slot, lane], steps + 1


@compiled
def reach_twice(
    history: History, node: int, lane: int, one: np.ndarray, out: np.ndarray, column: int
) -> None:
    """Count the ways to everyone who is two steps away in the lists `lane`; `one` is [1]."""
    slot, steps = history.head[node, lane], 0
    while slot != NONE and steps < REACH:
        reach(history, history.target[slot], lane, one, out, column)
        slot, steps = history.after[slot, lane], steps + 1


@compiled
def multiply(out: np.ndarray, column: int, factor: np.ndarray) -> None:
    """Multiply the columns of one path by `factor` (N, 4)."""
    for node in range(len(factor)):
        for tau in range(PATH_TAUS):
            out[node, column + tau] *= factor[node, tau]


@compiled
def walk_from_actor(history: History, moment: Moment, a: int) -> None:
    """All path statistics a→b between `a` and every b, into `moment.paths`.

    chain          Σ_w  p(a→w) p(w→b)
    chain_received Σ_w  p(a→w) q(w→b): b is acted on by those a acts on
    alike_actors   Σ_wx p(a→w) q(x→w) p(x→b): what those do who act where a acts
    alike_targets  Σ_wx q(a→w) p(x→w) q(x→b): the audience of b acts where a does
    shared_actor   Σ_x  q(x→a) p(x→b)
    shared_target  Σ_w  p(a→w) q(b→w)
    leads          Σ_w  [a tied to w] p(w→b): what those do whom a follows
    leads_received Σ_w  [a tied to w] q(w→b): by those whom a follows
    fans_received  Σ_w  [w tied to a] q(w→b): by those who follow a
    tied_twice     Σ_w  [a tied to w] [w tied to b]
    common         number of w with a→w→b
    """
    out, middle, weight, one = moment.paths, moment.middle, moment.weight, moment.one
    acts, receives = moment.inverse[0], moment.inverse[1]
    out[:] = 0.0
    middle[:] = 0.0
    slot, steps = history.head[a, OUT], 0
    while slot != NONE and steps < REACH:
        w = history.target[slot]
        for tau in range(PATH_TAUS):
            p = history.fade[slot, FIRST + tau] * acts[a, tau]
            weight[tau], weight[PATH_TAUS + tau] = p * acts[w, tau], p
        spread(history, w, OUT, 0, weight, out, CHAIN)
        for tau in range(PATH_TAUS):  # p(a→w)/F(w as target), and q(a→w)
            q = history.fade[slot, FIRST + tau] * receives[w, tau]
            weight[tau], weight[PATH_TAUS + tau] = q * acts[a, tau], q
        spread(history, w, IN, 1, weight, middle, 0)
        slot, steps = history.after[slot, OUT], steps + 1
    for x in range(len(middle)):
        if middle[x, PATH_TAUS - 1] == 0.0:
            continue
        for tau in range(PATH_TAUS):
            out[x, SHARED_TARGET + tau] = middle[x, tau]
            weight[tau] = middle[x, tau] * acts[x, tau]
            weight[PATH_TAUS + tau] = middle[x, PATH_TAUS + tau] * acts[x, tau]
        spread(history, x, OUT, 0, weight, out, ALIKE_ACTORS)
    slot, steps = history.head[a, IN], 0
    while slot != NONE and steps < REACH:
        x = history.target[slot]
        for tau in range(PATH_TAUS):
            weight[tau] = history.fade[slot ^ 1, FIRST + tau] * receives[a, tau] * acts[x, tau]
        spread(history, x, OUT, 0, weight[:PATH_TAUS], out, SHARED_ACTOR)
        slot, steps = history.after[slot, IN], steps + 1
    slot, steps = history.head[a, TIES_OUT], 0
    while slot != NONE and steps < REACH:
        w = history.target[slot]
        for tau in range(PATH_TAUS):
            weight[tau], weight[PATH_TAUS + tau] = acts[w, tau], 1.0
        spread(history, w, OUT, 0, weight, out, LEADS)
        slot, steps = history.after[slot, TIES_OUT], steps + 1
    slot, steps = history.head[a, TIES_IN], 0
    while slot != NONE and steps < REACH:
        spread(history, history.target[slot], OUT, 0, one, out, FANS)
        slot, steps = history.after[slot, TIES_IN], steps + 1
    for column in (CHAIN_RECEIVED, ALIKE_TARGETS, LEADS_RECEIVED, FANS):  # whose last step is a q
        multiply(out, column, receives)
    reach_twice(history, a, TIES_OUT, one[:1], out, TIED_TWICE)
    reach_twice(history, a, OUT, one[:1], out, COMMON)


@compiled
def walk_from_target(history: History, moment: Moment, b: int) -> None:
    """The same between every a and `b`, from the other end."""
    out, middle, weight, one = moment.paths, moment.middle, moment.weight, moment.one
    acts, receives = moment.inverse[0], moment.inverse[1]
    out[:] = 0.0
    middle[:] = 0.0
    slot, steps = history.head[b, IN], 0
    while slot != NONE and steps < REACH:
        w, edge = history.target[slot], slot ^ 1
        for tau in range(PATH_TAUS):  # p(w→b), and q(w→b)
            f = history.fade[edge, FIRST + tau]
            weight[tau], weight[PATH_TAUS + tau] = f * acts[w, tau], f * receives[b, tau]
        spread(history, w, IN, 1, weight, out, CHAIN)
        reach(history, w, TIES_IN, weight, out, LEADS)
        reach(history, w, TIES_OUT, weight[PATH_TAUS:], out, FANS)
        for tau in range(PATH_TAUS):  # q(x→b)/F(x as actor), and p(x→b)
            weight[tau], weight[PATH_TAUS + tau] = weight[PATH_TAUS + tau] * acts[w, tau], weight[tau]
        spread(history, w, OUT, 0, weight, middle, 0)
        slot, steps = history.after[slot, IN], steps + 1
    for x in range(len(middle)):
        if middle[x, PATH_TAUS - 1] == 0.0:
            continue
        for tau in range(PATH_TAUS):
            shared = middle[x, PATH_TAUS + tau] * receives[x, tau]
            out[x, SHARED_ACTOR + tau] = shared
            weight[tau], weight[PATH_TAUS + tau] = shared, middle[x, tau] * receives[x, tau]
        spread(history, x, IN, 1, weight, out, ALIKE_ACTORS)
    slot, steps = history.head[b, OUT], 0
    while slot != NONE and steps < REACH:
        w = history.target[slot]
        for tau in range(PATH_TAUS):
            weight[tau] = history.fade[slot, FIRST + tau] * receives[w, tau]
        spread(history, w, IN, 1, weight[:PATH_TAUS], out, SHARED_TARGET)
        slot, steps = history.after[slot, OUT], steps + 1
    for column in (CHAIN, CHAIN_RECEIVED, ALIKE_ACTORS, SHARED_TARGET):  # whose first step is a p
        multiply(out, column, acts)
    reach_twice(history, b, TIES_IN, one[:1], out, TIED_TWICE)
    reach_twice(history, b, IN, one[:1], out, COMMON)

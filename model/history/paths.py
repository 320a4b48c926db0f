"""Statistics along paths, from one node to all others at once.

Along a→b, with f the fading sum of a pair and F of a node: p = f/F(a as actor), the share of b in what a
does, and q = f/F(b as target), the share of a in what b receives. Every sum runs over the latest `REACH`
partners of each node on the way, so that its cost is bounded however long the stream and large the network.
"""

import numpy as np

from model.history.compiled import compiled
from model.history.state import IN, NONE, OUT, TIES_IN, TIES_OUT, History

REACH = 128
PATH_TAUS = np.array([1, 3, 4, 5])  # of `TAUS`: an hour (a session), a day, four days, a month
PATHS = ("chain", "alike_actors", "alike_targets", "shared_actor", "shared_target", "leads")
PATHS += ("chain_received", "leads_received", "fans_received")
CHAIN, ALIKE_ACTORS, ALIKE_TARGETS, SHARED_ACTOR, SHARED_TARGET, LEADS = range(6)
CHAIN_RECEIVED, LEADS_RECEIVED, FANS_RECEIVED = range(6, 9)
TIED_TWICE = 9 * 4  # the column after those of `PATHS` × `PATH_TAUS`
COMMON = TIED_TWICE + 1
WIDTH = COMMON + 1


@compiled
def walk(
    history: History,
    anchor: int,
    forward: bool,
    inverse: np.ndarray,
    middle: np.ndarray,
    touched: np.ndarray,
    out: np.ndarray,
) -> None:
    """All path statistics between `anchor` and every node, (N, WIDTH): anchor→node if `forward`.

    `inverse` (2, N, 4) is 1/F of each node as actor and as target; `middle` (N, 9) and `touched` (N) are room
    to work in, `middle` zero before and after.

    chain          Σ_w  p(a→w) p(w→b)
    alike_actors   Σ_wx p(a→w) q(x→w) p(x→b): what those do who act where a acts
    alike_targets  Σ_wx q(a→w) p(x→w) q(x→b): the audience of b acts where a does
    shared_actor   Σ_x  q(x→a) p(x→b)
    shared_target  Σ_w  p(a→w) q(b→w)
    leads          Σ_w  [a tied to w] p(w→b): what those do whom a follows
    chain_received Σ_w  p(a→w) q(w→b): b is acted on by those a acts on
    leads_received Σ_w  [a tied to w] q(w→b): by those whom a follows
    fans_received  Σ_w  [w tied to a] q(w→b): by those who follow a
    tied_twice     Σ_w  [a tied to w] [w tied to b]
    common         number of partners in common, in any direction of a→w→b
    """
    out[:] = 0.0
    away, back = (OUT, IN) if forward else (IN, OUT)
    ties = TIES_OUT if forward else TIES_IN
    own, other = (0, 1) if forward else (1, 0)  # the role of the anchor and of who is at the far end
    taus = len(PATH_TAUS)
    near = np.empty(taus)
    far = np.empty(taus)
    reached = 0
    slot, steps = history.head[anchor, away], 0
    while slot != NONE and steps < REACH:
        edge = slot if forward else slot ^ 1
        w = history.target[slot]
        for tau in range(taus):
            f = history.fade[edge, PATH_TAUS[tau]]
            near[tau] = f * inverse[own, anchor, tau]  # forward: p(a→w); backward: q(w→b)
            far[tau] = f * inverse[other, w, tau]  # forward: q(a→w); backward: p(w→b)
        # chain: forward p(a→w) p(w→b); backward p(w→b) p(a→w), whose F is that of a, the far end
        step, more = history.head[w, away], 0
        while step != NONE and more < REACH:
            link = step if forward else step ^ 1
            end = history.target[step]
            for tau in range(taus):
                f = history.fade[link, PATH_TAUS[tau]]
                if forward:
                    out[end, CHAIN * taus + tau] += near[tau] * f * inverse[0, w, tau]
                    out[end, CHAIN_RECEIVED * taus + tau] += near[tau] * f * inverse[1, end, tau]
                else:
                    out[end, CHAIN * taus + tau] += far[tau] * f * inverse[0, end, tau]
                    out[end, CHAIN_RECEIVED * taus + tau] += near[tau] * f * inverse[0, end, tau]
            out[end, COMMON] += 1.0
            step, more = history.after[step, away], more + 1
        # turn round at w: x acts where the anchor acts (forward), or is acted on by its actors (backward)
        step, more = history.head[w, back], 0
        while step != NONE and more < REACH:
            link = step ^ 1 if forward else step
            x = history.target[step]
            if middle[x, 2 * taus] == 0.0:
                middle[x, 2 * taus] = 1.0
                touched[reached] = x
                reached += 1
            for tau in range(taus):
                f = history.fade[link, PATH_TAUS[tau]]
                middle[x, tau] += near[tau] * f * inverse[other, w, tau]
                middle[x, taus + tau] += far[tau] * f * inverse[own, x, tau]
            step, more = history.after[step, back], more + 1
        slot, steps = history.after[slot, away], steps + 1
    # forward: middle = Σ_w p(a→w) q(x→w), Σ_w q(a→w) p(x→w); backward: Σ_x q(x→b) p(x→w), Σ_x p(x→b) q(x→w)
    for number in range(reached):
        x = touched[number]
        for tau in range(taus):
            if forward:
                out[x, SHARED_TARGET * taus + tau] = middle[x, tau]
            else:
                out[x, SHARED_ACTOR * taus + tau] = middle[x, taus + tau]
        step, more = history.head[x, away], 0
        while step != NONE and more < REACH:
            link = step if forward else step ^ 1
            end = history.target[step]
            for tau in range(taus):
                f = history.fade[link, PATH_TAUS[tau]]
                p, q = f * inverse[0, x if forward else end, tau], f * inverse[1, end if forward else x, tau]
                if forward:
                    out[end, ALIKE_ACTORS * taus + tau] += middle[x, tau] * p
                    out[end, ALIKE_TARGETS * taus + tau] += middle[x, taus + tau] * q
                else:
                    out[end, ALIKE_ACTORS * taus + tau] += middle[x, taus + tau] * p
                    out[end, ALIKE_TARGETS * taus + tau] += middle[x, tau] * q
            step, more = history.after[step, away], more + 1
        middle[x, :] = 0.0
    # the other way round at the anchor: those it shares actors (forward: x→a, x→b) or targets with
    slot, steps = history.head[anchor, back], 0
    while slot != NONE and steps < REACH:
        edge = slot ^ 1 if forward else slot
        x = history.target[slot]
        for tau in range(taus):
            f = history.fade[edge, PATH_TAUS[tau]]
            near[tau] = f * inverse[1, anchor if forward else x, tau]  # q(x→a), or q(b→w)
        step, more = history.head[x, away], 0
        while step != NONE and more < REACH:
            link = step if forward else step ^ 1
            end = history.target[step]
            for tau in range(taus):
                f = history.fade[link, PATH_TAUS[tau]]
                if forward:
                    out[end, SHARED_ACTOR * taus + tau] += near[tau] * f * inverse[0, x, tau]
                else:
                    out[end, SHARED_TARGET * taus + tau] += near[tau] * f * inverse[0, end, tau]
            step, more = history.after[step, away], more + 1
        slot, steps = history.after[slot, back], steps + 1
    # along ties: forward a ⇒ w → b, a ⇐ w → b and a ⇒ w ⇒ b; backward b ← w ⇐ a, b ← w ⇒ a and b ⇐ w ⇐ a
    if forward:
        tied_then_acting(history, anchor, TIES_OUT, inverse, out, LEADS, LEADS_RECEIVED)
        tied_then_acting(history, anchor, TIES_IN, inverse, out, NONE, FANS_RECEIVED)
    else:
        acting_then_tied(history, anchor, TIES_IN, inverse, out, LEADS, LEADS_RECEIVED)
        acting_then_tied(history, anchor, TIES_OUT, inverse, out, NONE, FANS_RECEIVED)
    slot, steps = history.head[anchor, ties], 0
    while slot != NONE and steps < REACH:
        step, more = history.head[history.target[slot], ties], 0
        while step != NONE and more < REACH:
            out[history.target[step], TIED_TWICE] += 1.0
            step, more = history.after[step, ties], more + 1
        slot, steps = history.after[slot, ties], steps + 1


@compiled
def tied_then_acting(
    history: History, anchor: int, lane: int, inverse: np.ndarray, out: np.ndarray, done: int, received: int
) -> None:
    """From the anchor along ties to w, then to what w acts on."""
    taus = len(PATH_TAUS)
    slot, steps = history.head[anchor, lane], 0
    while slot != NONE and steps < REACH:
        w = history.target[slot]
        step, more = history.head[w, OUT], 0
        while step != NONE and more < REACH:
            end = history.target[step]
            for tau in range(taus):
                f = history.fade[step, PATH_TAUS[tau]]
                if done != NONE:
                    out[end, done * taus + tau] += f * inverse[0, w, tau]
                out[end, received * taus + tau] += f * inverse[1, end, tau]
            step, more = history.after[step, OUT], more + 1
        slot, steps = history.after[slot, lane], steps + 1


@compiled
def acting_then_tied(
    history: History, anchor: int, lane: int, inverse: np.ndarray, out: np.ndarray, done: int, received: int
) -> None:
    """From the anchor back to those w who act on it, then along ties."""
    taus = len(PATH_TAUS)
    slot, steps = history.head[anchor, IN], 0
    while slot != NONE and steps < REACH:
        w = history.target[slot]
        step, more = history.head[w, lane], 0
        while step != NONE and more < REACH:
            end = history.target[step]
            for tau in range(taus):
                f = history.fade[slot ^ 1, PATH_TAUS[tau]]
                if done != NONE:
                    out[end, done * taus + tau] += f * inverse[0, w, tau]
                out[end, received * taus + tau] += f * inverse[1, anchor, tau]
            step, more = history.after[step, lane], more + 1
        slot, steps = history.after[slot, IN], steps + 1

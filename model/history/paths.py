"""Path statistics from one node to all others, computed in one walk.

Along a→b, with f the decayed sum of a pair and F of a node: p = f/F(a as actor) is b's share of a's actions,
and q = f/F(b as target) is a's share of the actions on b. Every sum runs over the latest partners of each
node on the path (`Moment.bounds`), so its cost is bounded for any stream length and network size. Only rows
of reached nodes are written; they are cleared before the next walk.
"""

import numpy as np

from model.history.compiled import compiled, inlined
from model.history.moment import FIRST, Moment, Touched, clear, touch
from model.history.state import IN, NONE, OUT, PATH_TAUS, PATHS, TIES_IN, TIES_OUT, History

ACTS, RECEIVES = 0, 1
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
def spread_along(
    history: History,
    most: int,
    node: int,
    lane: int,
    opposite: int,
    weight: np.ndarray,
    out: Touched,
    column: int,
) -> None:
    """Add weight · f to the latest partners in a node's list `lane`.

    f is that of the slots, or of the `opposite` ones. `weight` holds one path or several in adjacent columns.
    """
    slot, steps = history.head[node, lane], 0
    while slot != NONE and steps < most:
        end, edge = history.target[slot], slot ^ opposite
        touch(out, end)
        for path in range(0, len(weight), PATH_TAUS):
            for tau in range(PATH_TAUS):
                out.rows[end, column + path + tau] += weight[path + tau] * history.fade[edge, FIRST + tau]
        slot, steps = history.after[slot, lane], steps + 1


@compiled
def reach(
    history: History, most: int, node: int, lane: int, amount: np.ndarray, out: Touched, column: int
) -> None:
    """Add `amount` to the latest partners in a node's list `lane`."""
    slot, steps = history.head[node, lane], 0
    while slot != NONE and steps < most:
        end = history.target[slot]
        touch(out, end)
        for at in range(len(amount)):
            out.rows[end, column + at] += amount[at]
        slot, steps = history.after[slot, lane], steps + 1


@compiled
def reach_twice(
    history: History, most: int, node: int, lane: int, one: np.ndarray, out: Touched, column: int
) -> None:
    """Count the paths to every node two steps away in the lists `lane`; `one` is [1]."""
    slot, steps = history.head[node, lane], 0
    while slot != NONE and steps < most:
        reach(history, most, history.target[slot], lane, one, out, column)
        slot, steps = history.after[slot, lane], steps + 1


@compiled
def multiply_path(history: History, moment: Moment, column: int, role: int) -> None:
    """Multiply the columns of one path by 1/(F + prior) of each node that was reached."""
    out = moment.paths
    for number in range(out.count[0]):
        node = out.nodes[number]
        for tau in range(PATH_TAUS):
            out.rows[node, column + tau] *= inverse_strength(history, moment, role, node, tau)


@compiled
def start_walk(history: History, moment: Moment, anchor: int) -> None:
    """Clear the previous walk and set the strengths of the anchor."""
    clear(moment.paths)
    clear(moment.middle)
    for role in range(2):
        for tau in range(PATH_TAUS):
            moment.own[role, tau] = inverse_strength(history, moment, role, anchor, tau)


@compiled
def found_between(moment: Moment) -> int:
    """Return how many middle nodes a walk continues from, and sort these in place.

    They are the first ones found: the latest partners of the latest partners.
    """
    count = min(moment.middle.count[0], moment.bounds[1])
    sort_nodes(moment.middle.nodes[:count])
    return count


@compiled
def walk_from_actor(history: History, moment: Moment, a: int) -> None:
    """Compute all path statistics a→b from `a` to every b into `moment.paths`.

    chain          Σ_w  p(a→w) p(w→b)
    chain_received Σ_w  p(a→w) q(w→b): actions on b by those a acts on
    alike_actors   Σ_wx p(a→w) q(x→w) p(x→b): actions of those who act where a acts
    alike_targets  Σ_wx q(a→w) p(x→w) q(x→b): those who act on b act where a does
    shared_actor   Σ_x  q(x→a) p(x→b)
    shared_target  Σ_w  p(a→w) q(b→w)
    leads          Σ_w  [a tied to w] p(w→b): actions of those whom a follows
    leads_received Σ_w  [a tied to w] q(w→b): actions on b by those whom a follows
    fans_received  Σ_w  [w tied to a] q(w→b): actions on b by those who follow a
    tied_twice     Σ_w  [a tied to w] [w tied to b]
    common         number of w with a→w→b
    """
    start_walk(history, moment, a)
    out, middle, weight, one = moment.paths, moment.middle, moment.weight, moment.one
    own, most = moment.own[ACTS], moment.bounds[0]
    slot, steps = history.head[a, OUT], 0
    while slot != NONE and steps < most:
        w = history.target[slot]
        for tau in range(PATH_TAUS):
            p = history.fade[slot, FIRST + tau] * own[tau]
            weight[tau], weight[PATH_TAUS + tau] = p * inverse_strength(history, moment, ACTS, w, tau), p
        spread_along(history, most, w, OUT, 0, weight, out, CHAIN)
        for tau in range(PATH_TAUS):  # p(a→w)/F(w as target), and q(a→w)
            q = history.fade[slot, FIRST + tau] * inverse_strength(history, moment, RECEIVES, w, tau)
            weight[tau], weight[PATH_TAUS + tau] = q * own[tau], q
        spread_along(history, most, w, IN, 1, weight, middle, 0)
        slot, steps = history.after[slot, OUT], steps + 1
    for number in range(middle.count[0]):
        x = middle.nodes[number]
        touch(out, x)
        for tau in range(PATH_TAUS):
            out.rows[x, SHARED_TARGET + tau] = middle.rows[x, tau]
    for number in range(found_between(moment)):
        x = middle.nodes[number]
        if middle.rows[x, PATH_TAUS - 1] == 0.0:
            continue
        for tau in range(PATH_TAUS):
            acts = inverse_strength(history, moment, ACTS, x, tau)
            weight[tau] = middle.rows[x, tau] * acts
            weight[PATH_TAUS + tau] = middle.rows[x, PATH_TAUS + tau] * acts
        spread_along(history, most, x, OUT, 0, weight, out, ALIKE_ACTORS)
    slot, steps = history.head[a, IN], 0
    while slot != NONE and steps < most:
        x = history.target[slot]
        for tau in range(PATH_TAUS):
            q = history.fade[slot ^ 1, FIRST + tau] * moment.own[RECEIVES, tau]
            weight[tau] = q * inverse_strength(history, moment, ACTS, x, tau)
        spread_along(history, most, x, OUT, 0, weight[:PATH_TAUS], out, SHARED_ACTOR)
        slot, steps = history.after[slot, IN], steps + 1
    slot, steps = history.head[a, TIES_OUT], 0
    while slot != NONE and steps < most:
        w = history.target[slot]
        for tau in range(PATH_TAUS):
            weight[tau], weight[PATH_TAUS + tau] = inverse_strength(history, moment, ACTS, w, tau), 1.0
        spread_along(history, most, w, OUT, 0, weight, out, LEADS)
        slot, steps = history.after[slot, TIES_OUT], steps + 1
    slot, steps = history.head[a, TIES_IN], 0
    while slot != NONE and steps < most:
        spread_along(history, most, history.target[slot], OUT, 0, one, out, FANS)
        slot, steps = history.after[slot, TIES_IN], steps + 1
    for column in (CHAIN_RECEIVED, ALIKE_TARGETS, LEADS_RECEIVED, FANS):  # paths whose last step is a q
        multiply_path(history, moment, column, RECEIVES)
    reach_twice(history, most, a, TIES_OUT, one[:1], out, TIED_TWICE)
    reach_twice(history, most, a, OUT, one[:1], out, COMMON)


@compiled
def walk_from_target(history: History, moment: Moment, b: int) -> None:
    """Compute the same statistics from every a to `b`, walking backwards from `b`."""
    start_walk(history, moment, b)
    out, middle, weight, one = moment.paths, moment.middle, moment.weight, moment.one
    own, most = moment.own[RECEIVES], moment.bounds[0]
    slot, steps = history.head[b, IN], 0
    while slot != NONE and steps < most:
        w, edge = history.target[slot], slot ^ 1
        for tau in range(PATH_TAUS):  # p(w→b), and q(w→b)
            f = history.fade[edge, FIRST + tau]
            weight[tau], weight[PATH_TAUS + tau] = (
                f * inverse_strength(history, moment, ACTS, w, tau),
                f * own[tau],
            )
        spread_along(history, most, w, IN, 1, weight, out, CHAIN)
        reach(history, most, w, TIES_IN, weight, out, LEADS)
        reach(history, most, w, TIES_OUT, weight[PATH_TAUS:], out, FANS)
        for tau in range(PATH_TAUS):  # q(x→b)/F(x as actor), and p(x→b)
            q = weight[PATH_TAUS + tau] * inverse_strength(history, moment, ACTS, w, tau)
            weight[tau], weight[PATH_TAUS + tau] = q, weight[tau]
        spread_along(history, most, w, OUT, 0, weight, middle, 0)
        slot, steps = history.after[slot, IN], steps + 1
    for number in range(middle.count[0]):
        x = middle.nodes[number]
        touch(out, x)
        for tau in range(PATH_TAUS):
            shared = middle.rows[x, PATH_TAUS + tau] * inverse_strength(history, moment, RECEIVES, x, tau)
            out.rows[x, SHARED_ACTOR + tau] = shared
    for number in range(found_between(moment)):
        x = middle.nodes[number]
        if middle.rows[x, PATH_TAUS - 1] == 0.0:
            continue
        for tau in range(PATH_TAUS):
            receives = inverse_strength(history, moment, RECEIVES, x, tau)
            weight[tau] = middle.rows[x, PATH_TAUS + tau] * receives
            weight[PATH_TAUS + tau] = middle.rows[x, tau] * receives
        spread_along(history, most, x, IN, 1, weight, out, ALIKE_ACTORS)
    slot, steps = history.head[b, OUT], 0
    while slot != NONE and steps < most:
        w = history.target[slot]
        for tau in range(PATH_TAUS):
            q = history.fade[slot, FIRST + tau] * inverse_strength(history, moment, RECEIVES, w, tau)
            weight[tau] = q
        spread_along(history, most, w, IN, 1, weight[:PATH_TAUS], out, SHARED_TARGET)
        slot, steps = history.after[slot, OUT], steps + 1
    for column in (CHAIN, CHAIN_RECEIVED, ALIKE_ACTORS, SHARED_TARGET):  # paths whose first step is a p
        multiply_path(history, moment, column, ACTS)
    reach_twice(history, most, b, TIES_IN, one[:1], out, TIED_TWICE)
    reach_twice(history, most, b, IN, one[:1], out, COMMON)


@compiled
def sort_nodes(nodes: np.ndarray) -> None:
    """Sort in place (Shell sort), so that sums over nodes have the same bits in any order of discovery."""
    gap = 1
    while gap < len(nodes) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for number in range(gap, len(nodes)):
            node, at = nodes[number], number
            while at >= gap and nodes[at - gap] > node:
                nodes[at] = nodes[at - gap]
                at -= gap
            nodes[at] = node
        gap //= 3


@inlined
def inverse_strength(history: History, moment: Moment, role: int, who: int, tau: int) -> float:
    """Return 1/(F + prior) of a node on a path, as actor or as target, at a τ of paths."""
    return 1.0 / (history.node_fade[role, who, FIRST + tau] + moment.prior[tau])

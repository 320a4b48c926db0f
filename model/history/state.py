"""State of an event stream: plain arrays, sized by the numbers of nodes and of pairs seen.

Capacity for slots is reserved in advance; it takes physical memory only as slots come into use.

A pair is two slots, `s` for a→b and `s ^ 1` for b→a. A decayed sum Σ exp(−(t − tᵢ)/τ) is stored as Σ exp((tᵢ
− reference)/τ): an event adds one term and changes nothing else.
"""

from typing import NamedTuple

import numpy as np

HOUR, DAY = 3600.0, 86_400.0
TAUS = np.array([HOUR / 4, 6 * HOUR, HOUR, DAY, 4 * DAY, 30 * DAY])
TAU_NAMES = ("15min", "6h", "1h", "1d", "4d", "30d")
SESSION, IN_AN_HOUR, IN_A_DAY, MONTH = 1, 2, 3, 5  # of `TAUS`
PATH_TAUS = 4  # the last of `TAUS`, contiguous in memory, are used for paths
PATHS = ("chain", "chain_received", "alike_actors", "alike_targets", "shared_actor", "shared_target")
PATHS += ("leads", "leads_received", "fans_received")
PATHS_WIDTH = len(PATHS) * PATH_TAUS + 2  # plus the counts of two-step ties and of common partners
SMOOTHING = np.array([0.5, 0.15, 0.03])
POWERS = (1 - SMOOTHING) ** np.arange(2048)[:, None]  # after 2,047 events a share is practically 0

OUT, IN, ALL, TIES_OUT, TIES_IN = range(5)  # lists of a node's slots, the latest first
NEAR_HOURS = (
    np.array([1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0]) / 16
)  # weights of three hours before to three after
RECENT = 3  # latest partners of a node that the sequence statistics use
NONE = -1
NEVER = -np.inf


class History(NamedTuple):
    """State of N nodes, P pair slots, Q sequence slots, K event types and T = `len(TAUS)` decay constants.

    Numba accepts a named tuple of arrays directly; the arrays are changed in place.
    """

    # the stream
    reference: np.ndarray  # (T) seconds: reference times of the decayed sums
    clock: np.ndarray  # (3) seconds: last event, start of the day and of the week before second 0
    sizes: np.ndarray  # (3) slots of pairs and of sequences in use, events
    all_fade: np.ndarray  # (T)
    # pairs; a→b unless said otherwise
    pair_table: np.ndarray  # (≥ 2P) hash table of slots
    source: np.ndarray  # (P)
    target: np.ndarray  # (P)
    fade: np.ndarray  # (P, T)
    count: np.ndarray  # (P)
    last: np.ndarray  # (P) seconds
    type_count: np.ndarray  # (P, K)
    last_type: np.ndarray  # (P)
    tie: np.ndarray  # (P) seconds of the association; +∞ none, −∞ before the first event
    share: np.ndarray  # (P, 3, 3) smoothed share of b in a's out-, in- and all events, by `SMOOTHING`
    share_at: np.ndarray  # (P, 3) a's number of such events at the last update
    after: np.ndarray  # (P, 5) next slot in each list of a
    before: np.ndarray  # (P, 5)
    # nodes; [0] as actor, [1] as target
    head: np.ndarray  # (N, 5) first slot of each list
    degree: np.ndarray  # (N, 5)
    node_count: np.ndarray  # (N, 3) out-, in-, all events
    node_fade: np.ndarray  # (2, N, T)
    new_fade: np.ndarray  # (2, N, T) events with a first-time partner
    node_last: np.ndarray  # (2, N) seconds
    gap: np.ndarray  # (2, N) smoothed log of the minutes between events
    node_type: np.ndarray  # (2, N, 2, K) decayed by session, and by month
    node_last_type: np.ndarray  # (2, N)
    hours: np.ndarray  # (2, N, 24) decayed by month
    near_hours: np.ndarray  # (2, N, 24) the same, smoothed over nearby hours by `NEAR_HOURS`
    weekdays: np.ndarray  # (2, N, 7) decayed by month
    all_near_hours: np.ndarray  # (24) of everyone
    recent: np.ndarray  # (2, N, RECENT) targets of an actor, actors on a target
    latest: np.ndarray  # (2) actor and target of the last event
    # sequences: x, then y, as targets of one actor [0] or as actors on one target [1]
    step_table: np.ndarray  # (≥ 2Q) hash table of slots
    step_key: np.ndarray  # (Q)
    step_fade: np.ndarray  # (Q, 2, 3) decayed by month; one and two steps back, and the stream's last event
    step_total: np.ndarray  # (2, N, 3) the same, summed over y


FILL = {"node_last": NEVER, "pair_table": NONE, "step_table": NONE}
FILL |= dict.fromkeys(("head", "node_last_type", "recent", "latest"), NONE)
WHOLE = ("pair_table", "source", "target", "count", "type_count", "last_type", "share_at", "after", "before")
WHOLE += ("head", "degree", "node_last_type", "recent", "latest", "step_table")
LONG = ("step_key", "sizes")
PAIRS = ("source", "target", "fade", "count", "last", "type_count", "last_type", "tie", "share", "share_at")
PAIRS += ("after", "before")
STEPS = ("step_key", "step_fade")


def shapes(nodes: int, types: int, pairs: int, steps: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array for these numbers of slots."""
    taus = len(TAUS)
    return {
        "reference": (taus,),
        "clock": (3,),
        "sizes": (3,),
        "all_fade": (taus,),
        "pair_table": (table_size(pairs),),
        "source": (pairs,),
        "target": (pairs,),
        "fade": (pairs, taus),
        "count": (pairs,),
        "last": (pairs,),
        "type_count": (pairs, types),
        "last_type": (pairs,),
        "tie": (pairs,),
        "share": (pairs, 3, len(SMOOTHING)),
        "share_at": (pairs, 3),
        "after": (pairs, 5),
        "before": (pairs, 5),
        "head": (nodes, 5),
        "degree": (nodes, 5),
        "node_count": (nodes, 3),
        "node_fade": (2, nodes, taus),
        "new_fade": (2, nodes, taus),
        "node_last": (2, nodes),
        "gap": (2, nodes),
        "node_type": (2, nodes, 2, types),
        "node_last_type": (2, nodes),
        "hours": (2, nodes, 24),
        "near_hours": (2, nodes, 24),
        "weekdays": (2, nodes, 7),
        "all_near_hours": (24,),
        "recent": (2, nodes, RECENT),
        "latest": (2,),
        "step_table": (table_size(steps),),
        "step_key": (steps,),
        "step_fade": (steps, 2, 3),
        "step_total": (2, nodes, 3),
    }


def table_size(slots: int) -> int:
    """Return the smallest power of two, at least 16, that keeps a hash table half empty."""
    return 1 << max(4, (2 * slots - 1).bit_length())


def new_array(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of the empty state; the values of a slot are set when it is claimed.

    Zeros that were never written take no physical memory, so reserving many slots is cheap.
    """
    dtype = np.int32 if name in WHOLE else np.int64 if name in LONG else np.float64
    return np.full(shape, FILL[name], dtype) if name in FILL else np.zeros(shape, dtype)


def new_history(nodes: int, types: int, day_offset: float = 0.0, week_offset: float = 0.0) -> History:
    """Return an empty history. The offsets are the seconds from the start of the day, and of the week
    (Monday), to second 0 of the stream.
    """
    arrays = {name: new_array(name, shape) for name, shape in shapes(nodes, types, 256, 256).items()}
    arrays["clock"][:] = NEVER, day_offset, week_offset
    return History(**arrays)

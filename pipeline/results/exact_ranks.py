"""Exact ranks of partners among all nodes, from sparse pair scores and node popularity.

A node's candidates are ordered by pair score; unscored candidates follow, by popularity. A rank therefore
needs only the node's own partners and the number of more popular nodes, which a Fenwick tree counts in
logarithmic time. No N × N or events × candidates array is allocated. Ranks equal those of
`pipeline.results.metrics.mid_ranks`.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numba import njit

from pipeline.results.pairs import Pairs

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Changes:
    """Score increases in event order, each in effect from the event `first` on."""

    first: np.ndarray = field(default_factory=NOTHING.copy)  # (K,) idx of that event
    place: np.ndarray = field(default_factory=NOTHING.copy)  # (K,) the pair or node
    value: np.ndarray = field(default_factory=NOTHING.copy)  # (K,)


@dataclass(frozen=True)
class Memory:
    """Candidate scores of a predictor: pair scores, then node popularity, with their increases over time."""

    pairs: Pairs
    scores: np.ndarray  # (P,) int64, 0 if unscored
    changes: Changes = Changes()
    popularity: np.ndarray | None = None  # (N,) int64
    popularity_changes: Changes = Changes()

    @property
    def frozen(self) -> "Memory":
        """The same scores without later increases."""
        return replace(self, changes=Changes(), popularity_changes=Changes())

    def ranks(self, idx: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the 0-based rank of each event's target among all nodes but its source, as in `mid_ranks`.

        Events must be in order; increases with `first` ≤ idx apply before an event is ranked. Raises
        ValueError if a source equals its target.
        """
        if (source == target).any():
            raise ValueError("target equals source in a row; a node is never its own candidate")
        popularity = np.zeros(self.pairs.nodes, np.int64) if self.popularity is None else self.popularity
        changes, later = self.changes, self.popularity_changes
        most = max(popularity.max(initial=0), later.value.max(initial=0))
        return ranks_in_order(
            *(of.astype(np.int64) for of in (idx, source, target)),
            self.pairs.first,
            self.pairs.partner,
            self.scores.copy(),
            *(changes.first, changes.place, changes.value),
            popularity.copy(),
            *(later.first, later.place, later.value),
            np.zeros(int(most) + 2, np.int64),
        )


@njit(cache=True)
def ranks_in_order(  # noqa: ANN201 - compiled for these arrays
    idx,  # noqa: ANN001
    source,  # noqa: ANN001
    target,  # noqa: ANN001
    first,  # noqa: ANN001
    partner,  # noqa: ANN001
    scores,  # noqa: ANN001
    change_first,  # noqa: ANN001
    change_place,  # noqa: ANN001
    change_value,  # noqa: ANN001
    popularity,  # noqa: ANN001
    later_first,  # noqa: ANN001
    later_node,  # noqa: ANN001
    later_value,  # noqa: ANN001
    tree,  # noqa: ANN001
):
    """Rank the events in one pass; `tree` is a Fenwick tree of node counts by popularity, index 0 unused."""
    for node in range(len(popularity)):
        add_popularity(tree, popularity[node], 1)
    ranks = np.empty(len(idx))
    entered = risen = 0
    for event in range(len(idx)):
        while entered < len(change_first) and change_first[entered] <= idx[event]:
            place = change_place[entered]
            scores[place] = max(scores[place], change_value[entered])
            entered += 1
        while risen < len(later_first) and later_first[risen] <= idx[event]:
            node = later_node[risen]
            add_popularity(tree, popularity[node], -1)
            popularity[node] = max(popularity[node], later_value[risen])
            add_popularity(tree, popularity[node], 1)
            risen += 1
        a, b = source[event], target[event]
        own = 0
        for place in range(first[a], first[a + 1]):
            if partner[place] == b:
                own = scores[place]
        above = level = 0
        if own > 0:
            for place in range(first[a], first[a + 1]):
                above += scores[place] > own
                level += scores[place] == own
        else:  # after all scored candidates, among the unscored
            popular = popularity[b]
            above = len(popularity) - up_to(tree, popular) - (popularity[a] > popular)
            level = up_to(tree, popular) - up_to(tree, popular - 1) - (popularity[a] == popular)
            for place in range(first[a], first[a + 1]):
                if scores[place] > 0:
                    above += popularity[partner[place]] <= popular
                    level -= popularity[partner[place]] == popular
        ranks[event] = above + (level - 1) / 2
    return ranks


@njit(cache=True)
def add_popularity(tree, value, many):  # noqa: ANN001, ANN201
    """Add `many` nodes of this popularity to the tree."""
    place = value + 1
    while place < len(tree):
        tree[place] += many
        place += place & -place


@njit(cache=True)
def up_to(tree, value):  # noqa: ANN001, ANN201
    """Count the nodes of at most this popularity."""
    place, many = value + 1, 0
    while place > 0:
        many += tree[place]
        place -= place & -place
    return many

"""The list of statistics: names by group in the order written, each with the scale a network reads it on."""

import numpy as np

from model.history.paths import PATH_TAUS, PATHS
from model.history.state import SMOOTHING, TAU_NAMES
from model.history.statistics import SCALES

Names = dict[str, tuple[str, ...]]
BY_ROLE = (("a", "acts", "receives"), ("b", "receives", "acts"))


def tau_names(name: str, taus: tuple[int, ...] = tuple(range(len(TAU_NAMES)))) -> tuple[str, ...]:
    """One name for each speed of fading."""
    return tuple(f"{name}_{TAU_NAMES[tau]}" for tau in taus)


def scales(types: int) -> dict[str, dict[str, str]]:
    """The scale of every statistic of a stream with so many event types, by group and name."""
    kinds = [str(kind) for kind in range(types)]
    listed = {
        "pair": [
            ("count", (*tau_names("count_ab"), *tau_names("count_ba"))),
            ("number", ("n_ab", "n_ba")),
            ("minutes", ("since_ab", "since_ba")),
            ("number", ("rank_target", "rank_actor", "rank_of_b", "rank_of_a")),
            ("plain", ("seen_ab", "seen_ba")),
        ],
        "share": [
            (
                "share",
                tuple(f"share_{who}_{lane}_{alpha}" for lane in ("out", "in", "all") for alpha in SMOOTHING),
            )
            for who in ("b_in_a", "a_in_b")
        ],
        "pair_type": [
            ("number", tuple(f"type_{way}_{kind}" for way in ("ab", "ba") for kind in kinds)),
            ("plain", tuple(f"last_{way}_{kind}" for way in ("ab", "ba") for kind in kinds)),
        ],
        "node": [
            entry
            for who, does, other in BY_ROLE
            for entry in (
                ("count", tau_names(f"{who}_{does}")),
                ("count", tau_names(f"{who}_new")),
                ("count", tau_names(f"{who}_{other}", (1, 3, 5))),
                ("minutes", (f"{who}_{does}_since", f"{who}_{other}_since")),
                ("number", (f"{who}_{does}_n", f"{who}_{other}_n")),
                ("number", (f"{who}_{does}_degree", f"{who}_{other}_degree")),
                ("plain", (f"{who}_new_rate", f"{who}_gap")),
            )
        ],
        "node_type": [
            (
                "plain",
                tuple(
                    f"{who}_{name}_{kind}"
                    for who in ("a", "b")
                    for name in ("type_6h", "type_30d", "last_type")
                    for kind in kinds
                ),
            ),
            ("plain", ("type_match", "type_match_6h_30d", "type_match_6h")),
        ],
        "clock": [
            (
                "ratio",
                tuple(f"{who}_{name}" for who in "ab" for name in ("hour", "hours", "hours_own", "weekday")),
            ),
            ("count", ("all_1h", "all_1d")),
            ("minutes", ("all_since",)),
            ("plain", ("hour_sin", "hour_cos", "weekend")),
        ],
        "association": [
            ("minutes", ("tie_ab_since", "tie_ba_since")),
            ("plain", ("tie_ab", "tie_ba")),
            ("number", ("a_ties", "a_tied", "b_tied", "b_ties")),
        ],
        "two_hops": [
            ("path", tuple(name for path in PATHS for name in tau_names(path, tuple(PATH_TAUS)))),
            ("number", ("tied_twice", "common")),
        ],
        "sequence": [
            entry
            for who in ("a", "b")
            for entry in (
                ("share", tuple(f"{name}_{who}" for name in ("next", "next2", "next3", "next_of_all"))),
                ("plain", tuple(f"{name}_{who}" for name in ("again", "again2", "again3"))),
            )
        ],
    }
    return {
        group: {name: scale for scale, names in entries for name in names}
        for group, entries in listed.items()
    }


def groups(types: int) -> Names:
    """The names of all statistics of a stream with so many event types, by group, in the order written."""
    return {group: tuple(members) for group, members in scales(types).items()}


def rescale(statistics: np.ndarray, of: dict[str, dict[str, str]]) -> np.ndarray:
    """Amounts (…, F) as a network reads them, in place: log(x + offset) where the scale says so."""
    listed = [scale for members in of.values() for scale in members.values()]
    statistics += np.array([SCALES.get(scale, 0.0) for scale in listed], statistics.dtype)
    is_log = np.array([scale in SCALES for scale in listed])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_log, [False]]).astype(np.int8)))
    for start, stop in edges.reshape(-1, 2):
        np.log(statistics[..., start:stop], out=statistics[..., start:stop])
    return statistics

"""The list of statistics in the order written, each with its group, block and scale."""

from typing import NamedTuple

import numpy as np

from model.history.standard import Standard
from model.history.state import IN_A_DAY, IN_AN_HOUR, MONTH, PATH_TAUS, PATHS, SMOOTHING, TAU_NAMES
from model.history.statistics import BLOCKS, Columns

# The network reads log(x + offset) for these scales, and the plain value for any other.
SCALES = {"count": 0.01, "share": 0.001, "path": 0.0003, "number": 1.0, "minutes": 1.0, "ratio": 0.0}


class Statistic(NamedTuple):
    """One statistic: `group` names its topic, `block` what it depends on."""

    name: str
    group: str
    block: str
    scale: str


def tau_names(name: str, taus: tuple[int, ...] = tuple(range(len(TAU_NAMES)))) -> tuple[str, ...]:
    """Return one name per decay time constant."""
    return tuple(f"{name}_{TAU_NAMES[tau]}" for tau in taus)


def node_statistics(
    who: str, does: str, other: str, kinds: list[str]
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return group, scale and names of the statistics of one of the two nodes."""
    return [
        ("node", "count", tau_names(f"{who}_{does}")),
        ("node", "count", tau_names(f"{who}_new")),
        ("node", "count", tau_names(f"{who}_{other}", (IN_AN_HOUR, IN_A_DAY, MONTH))),
        ("node", "minutes", (f"{who}_{does}_since", f"{who}_{other}_since")),
        ("node", "number", (f"{who}_{does}_n", f"{who}_{other}_n")),
        ("node", "number", (f"{who}_{does}_degree", f"{who}_{other}_degree")),
        (
            "association",
            "number",
            (f"{who}_ties", f"{who}_tied") if who == "a" else (f"{who}_tied", f"{who}_ties"),
        ),
        ("clock", "ratio", tuple(f"{who}_{name}" for name in ("hour", "hours", "hours_own", "weekday"))),
        ("node", "plain", (f"{who}_new_rate", f"{who}_gap")),
        (
            "node_type",
            "plain",
            tuple(f"{who}_{name}_{kind}" for name in ("type_6h", "type_30d", "last_type") for kind in kinds),
        ),
    ]


def listed(types: int) -> tuple[Statistic, ...]:
    """Return all statistics of a stream with `types` event types, in the order written."""
    kinds = [str(kind) for kind in range(types)]
    slowest = tuple(range(len(TAU_NAMES) - PATH_TAUS, len(TAU_NAMES)))
    blocks = {
        "moment": [
            ("clock", "count", ("all_1h", "all_1d")),
            ("clock", "minutes", ("all_since",)),
            ("clock", "plain", ("hour_sin", "hour_cos", "weekend")),
        ],
        "actor": node_statistics("a", "acts", "receives", kinds),
        "between": [
            ("two_hops", "path", tuple(name for path in PATHS for name in tau_names(path, slowest))),
            ("two_hops", "number", ("tied_twice", "common")),
            ("association", "minutes", ("tie_ab_since", "tie_ba_since")),
            (
                "sequence",
                "share",
                tuple(f"{name}_{who}" for who in "ab" for name in ("next", "next2", "next3", "next_of_all")),
            ),
            ("association", "plain", ("tie_ab", "tie_ba")),
            (
                "sequence",
                "plain",
                tuple(f"{name}_{who}" for who in "ab" for name in ("again", "again2", "again3")),
            ),
            ("node_type", "plain", ("type_match", "type_match_6h_30d", "type_match_6h")),
        ],
        "target": node_statistics("b", "receives", "acts", kinds),
        "past": [
            ("pair", "count", (*tau_names("count_ab"), *tau_names("count_ba"))),
            ("pair", "number", ("n_ab", "n_ba")),
            ("pair", "minutes", ("since_ab", "since_ba")),
            ("pair", "number", ("rank_target", "rank_actor", "rank_of_b", "rank_of_a")),
            (
                "share",
                "share",
                tuple(
                    f"share_{who}_{lane}_{alpha}"
                    for who in ("b_in_a", "a_in_b")
                    for lane in ("out", "in", "all")
                    for alpha in SMOOTHING
                ),
            ),
            ("pair_type", "number", tuple(f"type_{way}_{kind}" for way in ("ab", "ba") for kind in kinds)),
            ("pair", "plain", ("seen_ab", "seen_ba")),
            ("pair_type", "plain", tuple(f"last_{way}_{kind}" for way in ("ab", "ba") for kind in kinds)),
        ],
    }
    return tuple(
        Statistic(name, group, block, scale)
        for block in BLOCKS
        for group, scale, names in blocks[block]
        for name in names
    )


def columns_of(statistics: tuple[Statistic, ...], standard: Standard | None) -> Columns:
    """Return columns and scales of these statistics for compiled code; a `standard` is applied on top."""
    widths = [sum(one.block == block for one in statistics) for block in BLOCKS]
    logs = [sum(one.block == block and one.scale in SCALES for one in statistics) for block in BLOCKS]
    if standard is None:
        standard = Standard(
            np.zeros(len(statistics), np.float32), np.ones(len(statistics), np.float32), np.inf
        )
    return Columns(
        np.cumsum([0, *widths]),
        np.array(logs),
        np.array([SCALES.get(one.scale, 0.0) for one in statistics], np.float32),
        standard.mean,
        (1 / standard.deviation).astype(np.float32),
        np.array([standard.largest], np.float32),
    )

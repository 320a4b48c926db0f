"""Why a pair is likely: what each group of statistics adds to log λ against the average candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.rem.learning import seen_columns
from model.rem.network import Layout, log_intensities, log_intensity
from model.rem.standard import Standard
from pipeline.progress import duration

LEAST = 0.05  # a contribution to log λ below this is not worth a word
MOST_WORDS = 3


@dataclass(frozen=True)
class Explanation:
    """What the first seed says of all candidates (M) of one node, and why."""

    statistics: tuple[str, ...]
    raw: np.ndarray  # (M, F)
    probability: np.ndarray  # (M)
    added: dict[str, np.ndarray]  # by group of statistics: what it adds to log λ, (M)
    edge_types: np.ndarray  # (M), −1 for none

    def contributions(self, at: int) -> dict[str, float]:
        """What each group adds to log λ of a candidate, against the average candidate."""
        return {group: float(values[at]) for group, values in self.added.items()}

    def why(self, at: int) -> str:
        """What carries a candidate, in words."""
        return sentence(
            self.contributions(at), dict(zip(self.statistics, self.raw[at].tolist(), strict=True))
        )

    def edge_type(self, at: int) -> int | None:
        """The edge type along which an event most probably comes; None where it is the base rate."""
        return None if self.edge_types[at] < 0 else int(self.edge_types[at])


@torch.no_grad()
def explain(
    weights: dict[str, Tensor],
    layout: Layout,
    standard: Standard,
    raw: np.ndarray,
    names: dict[str, tuple[str, ...]],
) -> Explanation:
    """The first seed on the raw statistics (M, F) of all candidates of one node."""
    first = {name: tensor[:1] for name, tensor in weights.items()}
    seen = torch.from_numpy((raw[:, seen_columns(names)] > 0).any(1))
    x = torch.from_numpy(standard(raw[:, layout.columns]))
    parts = log_intensities(first, layout, x, seen)  # (1, M, 1 + r)
    return Explanation(
        tuple(name for group in names.values() for name in group),
        raw,
        log_intensity(parts)[0].double().softmax(0).numpy(),
        {group: values[0] for group, values in contributions(first, layout, x, seen, names).items()},
        parts[0].argmax(1).numpy() - 1,
    )


def group_columns(layout: Layout, names: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """Which inputs of the network belong to each group of statistics; without groups that it does not see."""
    group_of = np.repeat(np.arange(len(names)), [len(members) for members in names.values()])[layout.columns]
    columns = {name: np.flatnonzero(group_of == number) for number, name in enumerate(names)}
    return {name: where for name, where in columns.items() if len(where)}


@torch.no_grad()
def contributions(
    weights: dict[str, Tensor], layout: Layout, x: Tensor, seen: Tensor, names: Mapping[str, Sequence[str]]
) -> dict[str, np.ndarray]:
    """By group: log λ minus log λ with the group's statistics as the average candidate has them, (S, M).

    `x` (M, F) are the standardized statistics of all candidates of one node, `seen` (M) whether a pair has a
    past.
    """
    whole = log_intensity(log_intensities(weights, layout, x, seen))
    average = x.mean(0)
    found = {}
    for group, columns in group_columns(layout, names).items():
        without = x.clone()
        without[:, columns] = average[columns]
        found[group] = (whole - log_intensity(log_intensities(weights, layout, without, seen))).numpy()
    return found


def sentence(added: Mapping[str, float], statistics: Mapping[str, float]) -> str:
    """The groups that carry a forecast, in words, the strongest first; `statistics` are those of the pair."""
    strongest = sorted((group for group in added if added[group] > LEAST), key=lambda group: -added[group])
    words = [words for group in strongest if (words := in_words(group, statistics))]
    return "; ".join(dict.fromkeys(words[:MOST_WORDS])) or "nothing in particular"


def in_words(group: str, of: Mapping[str, float]) -> str:
    """What a group of statistics says of a pair a→b."""
    if group in ("pair", "pair_type"):
        words = []
        if of["seen_ab"]:
            words.append(f"met {ago(of['since_ab'])}")
        if of["seen_ba"]:
            words.append(f"{'answered' if of['seen_ab'] else 'acted on'} by {ago(of['since_ba'])}")
        return "; ".join(words) or "never met"
    if group == "share":
        part = np.exp(of["share_b_in_a_out_0.15"]) - 0.001
        return f"{part:.0%} of its latest events" if part >= 0.01 else ""
    if group == "two_hops":
        common = round(float(np.expm1(of["common"])))
        return f"{common} common partner{'s' if common != 1 else ''}" if common else "reached by no path"
    if group == "association":
        ties = [word for name, word in (("tie_ab", "tied to"), ("tie_ba", "tied by")) if of[name]]
        return " and ".join(ties) or "not tied"
    if group == "node":
        received = np.exp(of["b_receives_1d"]) - 0.01
        return f"popular: {received:.0f} events of late" if received >= 1 else "rarely acted on"
    if group == "sequence":
        return "the last partner again" if of["again_a"] else "often next after the last partner"
    return {"node_type": "the usual type of events", "clock": "active at this hour"}.get(group, group)


def ago(logarithm: float) -> str:
    """How long ago, from log(1 + minutes)."""
    minutes = float(np.expm1(logarithm))
    return f"{round(minutes / 1440)} days ago" if minutes >= 2880 else f"{duration(60 * minutes)} ago"

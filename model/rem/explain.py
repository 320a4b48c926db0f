"""Explanation of forecasts: what each group of statistics adds to log λ over the average candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.history.moment import LONG_AGO
from model.history.reading import Answers, Pass
from model.history.registry import Statistic
from model.rem.audience import NOBODY, audience_of
from model.rem.network import Layout, Weights, log_intensities, log_intensity
from pipeline.text import duration

LEAST = 0.05  # smaller contributions to log λ are not mentioned
MOST_WORDS = 3
IN_WORDS = {
    "node_type": "the usual type of events",
    "clock": "active at this hour",
    "own_pair": "own columns of their events",
    "own": "own columns fit",
}


@dataclass(frozen=True)
class Explanation:
    """The first seed's forecast for the candidates (M) of one node, with the reasons."""

    candidates: np.ndarray  # (M) nodes
    statistics: tuple[str, ...]
    amounts: np.ndarray  # (M, F) their statistics, not standardized
    probability: np.ndarray  # (M)
    added: dict[str, np.ndarray]  # by group of statistics: its contribution to log λ, (M)
    edge_types: np.ndarray  # (M), −1 for none

    def contributions(self, at: int) -> dict[str, float]:
        """Return what each group adds to log λ of a candidate, over the average candidate."""
        return {group: float(values[at]) for group, values in self.added.items()}

    def why(self, at: int) -> str:
        """Return the main reasons for a candidate in words."""
        return reason_sentence(
            self.contributions(at), dict(zip(self.statistics, self.amounts[at].tolist(), strict=True))
        )

    def edge_type(self, at: int) -> int | None:
        """Return the edge type along which an event most probably comes; None for the base rate."""
        return None if self.edge_types[at] < 0 else int(self.edge_types[at])


@torch.no_grad()
def explain(
    reading: Pass, weights: Weights, layout: Layout, node: int, now: float, also: np.ndarray = NOBODY
) -> Explanation:
    """Explain the first seed's forecast for targets of `node` at second `now`, including those in `also`.

    `reading` must standardize as the weights require.
    """
    first = {name: tensor[:1] for name, tensor in weights.items()}
    others, weight = audience_of(reading, node, now, also).without(node)
    answers = reading.ask(node, now, others=others)
    x, met = torch.from_numpy(layout.inputs_of(answers.x)), torch.from_numpy(answers.met)
    parts = log_intensities(first, layout, x, met)  # (1, M, 1 + r)
    added = contributions(first, layout, answers, reading.statistics, weight)
    return Explanation(
        others,
        tuple(one.name for one in reading.statistics),
        reading.as_listed().ask(node, now, others=others).x,
        candidate_shares(log_intensity(parts), weight)[0].numpy(),
        {group: values[0] for group, values in added.items()},
        parts[0].argmax(1).numpy() - 1,
    )


def candidate_shares(log_intensity: Tensor, weight: np.ndarray) -> Tensor:
    """Return each candidate's share of λ summed over all nodes, from log λ (S, M) and weights (M)."""
    logs = log_intensity.double()
    if (weight == 1).all():
        return logs.softmax(1)
    return (logs - (logs + torch.from_numpy(weight).log()).logsumexp(1, keepdim=True)).exp()


def group_columns(layout: Layout, statistics: Sequence[Statistic]) -> dict[str, np.ndarray]:
    """Return the network inputs of each group of statistics, omitting groups that it does not read."""
    groups = np.array([statistics[column].group for column in layout.columns])
    return {group: np.flatnonzero(groups == group) for group in dict.fromkeys(groups.tolist())}


@torch.no_grad()
def contributions(
    weights: Weights,
    layout: Layout,
    answers: Answers,
    statistics: Sequence[Statistic],
    weight: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return, by group, log λ minus log λ with the group's statistics set to their average: (S, M).

    `answers` are standardized, about the M candidates of one node; each represents `weight` (M) nodes.
    """
    x, met = torch.from_numpy(layout.inputs_of(answers.x)), torch.from_numpy(answers.met)
    whole = log_intensity(log_intensities(weights, layout, x, met))
    of = torch.from_numpy(weight.astype(np.float32))
    average = x.mean(0) if (of == 1).all() else of @ x / of.sum()
    added = {}
    for group, columns in group_columns(layout, statistics).items():
        without = x.clone()
        without[:, columns] = average[columns]
        added[group] = (whole - log_intensity(log_intensities(weights, layout, without, met))).numpy()
    return added


def reason_sentence(added: Mapping[str, float], statistics: Mapping[str, float]) -> str:
    """Return the groups that carry a forecast in words, strongest first; `statistics` are the pair's."""
    strongest = sorted((group for group in added if added[group] > LEAST), key=lambda group: -added[group])
    words = [words for group in strongest if (words := statistic_in_words(group, statistics))]
    return "; ".join(dict.fromkeys(words[:MOST_WORDS])) or "nothing in particular"


def statistic_in_words(group: str, of: Mapping[str, float]) -> str:
    """Return a description of a group's statistics of a pair a→b."""
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
    return IN_WORDS.get(group, group)


def ago(logarithm: float) -> str:
    """Return how long ago in words, from log(1 + minutes), which statistics cap at `LONG_AGO`."""
    minutes = float(np.expm1(logarithm))
    if round(minutes / 1440) >= round(LONG_AGO / 1440):
        return "more than 2 years ago"
    return f"{round(minutes / 1440)} days ago" if minutes >= 2880 else f"{duration(60 * minutes)} ago"

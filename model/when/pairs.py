"""Waiting time until a acts on b next: a piecewise-constant rate from statistics of the pair's history.

With r_j = exp(η_j) events per day in bin j of the time ahead, and d_j the days of a time s that lie in it,

    P(a→b within s) = 1 − exp(−Σ_j r_j d_j),

where the last bin has no end. A wait that ends after s, in bin j, has likelihood r_j exp(−Σ_i r_i d_i); one
that is censored at s has exp(−Σ_i r_i d_i). η comes from a small network of the statistics of `model.history`
at the moment of the query. The outcomes of pairs that had just met calibrate the probability p of an event
within a day for later forecasts (`model.when.reliability`). With q instead of p, both sides of the day keep
their shape: P(within s) becomes q P(within s)/p for a shorter time s, and P(not within s) becomes
(1 − q) P(not within s)/(1 − p) for a longer one.

    hazard = learn_pairs(events, end, PairSettings(), seed=0)
    times = forecast_pairs(hazard, reading.ask(node, now).x)
    times.within["1 d"], times.expected
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from model.checkpoint import read_tensors, write_tensors
from model.history.events import Events
from model.history.standard import Standard
from model.rem.standard import standard_of, standard_tensors
from model.when.hazard import one_cycle
from model.when.questions import Answers, ask_all, learning_questions
from model.when.reliability import Reliability
from model.when.settings import PairSettings
from pipeline.results.waits import DAY, HORIZONS, masses_between_edges

# Starts of the bins, in days ahead: fine at first, for replies and bursts; the last bin has no end.
EDGES = np.array([0, 1, 10, 60, 300, 900, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600]) / DAY
EDGES = np.append(EDGES, [1, 2, 4, 7, 14, 30])
ROWS_AT_ONCE = 65_536
TINY = np.finfo(np.float64).tiny


class PairHazard(nn.Module):
    """A network for η (M, B) from standardized statistics (M, F): two hidden layers and a linear skip."""

    def __init__(self, standard: Standard, settings: PairSettings) -> None:
        super().__init__()
        self.standard, self.settings = standard, settings
        self.reliability = Reliability()
        inputs, hidden, bins = len(standard.mean), settings.hidden, len(EDGES)
        self.skip = nn.Linear(inputs, bins)
        nn.init.zeros_(self.skip.weight)
        self.network = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.SiLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(hidden, hidden // 2),
            nn.SiLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(hidden // 2, bins),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return η (M, B) of standardized statistics."""
        return self.skip(x) + self.network(x)

    @torch.no_grad()
    def rates(self, statistics: np.ndarray) -> np.ndarray:
        """Return events per day in each bin (M, B), from raw statistics (M, F)."""
        parts = [
            self(torch.from_numpy(self.standard(statistics[start : start + ROWS_AT_ONCE]))).double()
            for start in range(0, len(statistics), ROWS_AT_ONCE)
        ]
        return torch.cat(parts).exp().numpy()

    def save(self, path: Path) -> None:
        """Write weights, standardization, calibration and settings to `path`."""
        write_tensors(
            {
                **self.state_dict(),
                **standard_tensors(self.standard),
                "forecasts": torch.from_numpy(self.reliability.forecasts),
                "surplus": torch.from_numpy(self.reliability.surplus),
            },
            {"settings": asdict(self.settings), "moment": self.reliability.moment},
            path,
        )

    @classmethod
    def load(cls, path: Path) -> "PairHazard":
        """Return the hazard that `save` wrote, in evaluation mode."""
        tensors, header = read_tensors(path)
        standard = standard_of(tensors)
        if standard is None:
            raise ValueError(f"{path} is no pair hazard: learn it again")
        hazard = cls(standard, PairSettings(**header["settings"]))
        hazard.load_state_dict({name: tensors[name] for name in hazard.state_dict()})
        forecasts, surplus = tensors["forecasts"].numpy(), tensors["surplus"].numpy()
        hazard.reliability = Reliability(forecasts, surplus, header["moment"])
        return hazard.eval()


@dataclass(frozen=True)
class PairTimes:
    """Forecasts of the time until a node acts on each of M candidates."""

    within: dict[str, np.ndarray]  # (M) by horizon: probability of at least one event
    expected: np.ndarray  # (M) seconds


def forecast_pairs(hazard: PairHazard, statistics: np.ndarray) -> PairTimes:
    """Return calibrated probabilities within each of `HORIZONS` and the expected time, per candidate (M).

    `statistics` (M, F) are those of a node with its candidates at the moment of the query: `Pass.ask`.
    """
    rates = hazard.rates(statistics)
    today = within_day(rates)
    corrected = hazard.reliability.corrected(today)
    more = corrected / np.maximum(today, TINY)  # factor for P(within s), s up to a day
    less = (1 - corrected) / np.maximum(1 - today, TINY)  # factor for P(not within s), s from a day
    within = {}
    for name, horizon in HORIZONS.items():
        waiting = survival(rates, np.full(len(rates), horizon))
        within[name] = more * (1 - waiting) if horizon <= DAY else 1 - less * waiting
    waiting = expected_in_bins(rates)  # (M, B)
    before, after = waiting[:, EDGES < 1].sum(axis=1), waiting[:, EDGES >= 1].sum(axis=1)
    return PairTimes(within, DAY - more * (DAY - before) + less * after)


def days_in_bins(seconds: np.ndarray) -> np.ndarray:
    """Return the days of each time ahead (M) that lie in each bin (M, B)."""
    return np.clip(np.asarray(seconds)[:, None] / DAY, EDGES, np.append(EDGES[1:], np.inf)) - EDGES


def pair_masses(rates: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the probability (M, E) that each wait ends between two `edges` (E + 1), in seconds."""
    ahead = rates @ days_in_bins(edges).T  # (M, E + 1), expected events
    return masses_between_edges(1 - np.exp(-ahead))


def within_day(rates: np.ndarray) -> np.ndarray:
    """Return P(an event within a day) (M), before calibration."""
    return 1 - survival(rates, np.full(len(rates), DAY))


def moved_to(masses: np.ndarray, edges: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Rescale masses (M, E) to this `probability` (M) within a day, which must be one of the `edges`."""
    today = edges[1:] <= DAY
    share = np.where(today, masses, 0.0)
    rest = masses - share
    share, rest = (part / part.sum(axis=1, keepdims=True) for part in (share, rest))
    return share * probability[:, None] + rest * (1 - probability[:, None])


def survival(rates: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return P(no event within `seconds`) (M)."""
    return np.exp(-(rates * days_in_bins(seconds)).sum(axis=1))


def expected_in_bins(rates: np.ndarray) -> np.ndarray:
    """Return ∫ P(no event within s) ds over each bin, in seconds (M, B); the sum is the expected time."""
    passed = rates[:, :-1] * np.diff(EDGES)  # (M, B − 1), expected events of each bin that ends
    reached = np.exp(-np.cumsum(passed, axis=1))  # (M, B − 1), P(no event before its end)
    reached = np.concatenate([np.ones((len(rates), 1)), reached], axis=1)  # (M, B), before its start
    lasting = np.concatenate([-np.expm1(-passed), np.ones((len(rates), 1))], axis=1) / rates
    return reached * lasting * DAY


def pair_negative_log_likelihood(eta: Tensor, days: Tensor, bins: Tensor, ended: Tensor) -> Tensor:
    """Return −log likelihood (M) of waits with `days` (M, B) that `ended` in `bins` or are censored."""
    return (eta.exp() * days).sum(1) - ended * eta.gather(1, bins[:, None])[:, 0]


def learn_pairs(events: Events, end: int, settings: PairSettings, seed: int) -> PairHazard:
    """Train and calibrate a hazard on the events before position `end`."""
    answers = ask_all(
        events,
        learning_questions(events.stream, end, settings.questions, seed),
        end,
        settings.strangers,
        seed,
    )
    standard = Standard.of(answers.statistics)
    seconds = answers.seconds + 0.5  # event times are whole seconds: take the middle
    days = days_in_bins(seconds)
    rows = [
        torch.from_numpy(array)
        for array in (
            standard(answers.statistics).astype(np.float16),
            days.astype(np.float32),
            np.searchsorted(EDGES * DAY, seconds, side="right") - 1,
            (~answers.open).astype(np.float32),
            answers.weight.astype(np.float32),
        )
    ]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        hazard = PairHazard(standard, settings)
        # Start at the mean rate; otherwise the first epoch is spent on learning that events are rare.
        ended = max(float((~answers.open * answers.weight).sum()), 1.0)
        nn.init.constant_(hazard.skip.bias, np.log(ended / (days.sum(axis=1) * answers.weight).sum()))
        batches = -(-len(answers.seconds) // settings.batch)
        optimizer, schedule = one_cycle(
            hazard, settings.learning_rate, settings.weight_decay, settings.epochs * batches
        )
        for _ in range(settings.epochs):
            for batch in torch.randperm(len(answers.seconds)).split(settings.batch):
                x, time, bins, happened, weight = (array[batch] for array in rows)
                losses = pair_negative_log_likelihood(hazard(x.float()), time, bins, happened)
                loss = (weight * losses).sum() / weight.sum()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(hazard.parameters(), 1.0)
                optimizer.step()
                schedule.step()
    remember_outcomes(hazard.eval(), answers)
    return hazard


def remember_outcomes(hazard: PairHazard, answers: Answers) -> None:
    """Calibrate the hazard on the outcomes of pairs that had just met."""
    again = np.flatnonzero(answers.just_met)
    probability = within_day(hazard.rates(answers.statistics[again]))
    came = ~answers.open[again] & (answers.seconds[again] < DAY)
    hazard.reliability.follow(answers.moment[again], probability, came, answers.end)

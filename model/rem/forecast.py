"""Forecasts of a relational-event model: a node's next target, with probability and reason."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from model.checkpoint import read_tensors
from model.forecast import Forecaster
from model.history.events import load_events, statistics_of_events
from model.history.reading import Pass
from model.prediction import Prediction
from model.rem.explain import explain
from model.rem.network import layout_of, log_intensity
from model.rem.ranking import scored_answers
from model.rem.settings import RemSettings
from model.rem.standard import standard_of
from model.when.pairs import forecast_pairs
from model.when.stored import stored_pairs
from pipeline.rem_variants import RemVariant
from pipeline.results.trained import WEIGHTS
from pipeline.results.waits import DAY


def json_with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Return a trained folder's JSON with its lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


class RemForecaster(Forecaster):
    """The first seed's weights, and the history of the stream up to the latest query."""

    def __init__(self, folder: Path, table: Path, summary: dict[str, Any], names: Sequence[str]) -> None:
        self.events = load_events(table)
        stream = self.events.stream
        super().__init__(summary["dataset"], names, stream.moment(len(stream)))
        self.variant = RemVariant(**json_with_tuples(summary["variant"]))
        if self.events.stream.fingerprint != summary["fingerprint"]:
            raise ValueError(
                f"{folder} was trained on another event table than the one in {table}: train it again"
            )
        tensors, _ = read_tensors(folder / WEIGHTS)
        self.layout = layout_of(
            self.variant,
            RemSettings(**json_with_tuples(summary["settings"])),
            statistics_of_events(self.events),
        )
        self.standard = standard_of(tensors)
        other = {"columns", *(name for name in tensors if name.startswith("standard."))}
        self.weights = {name: tensor[:1] for name, tensor in tensors.items() if name not in other}
        self.reading = self.start()
        self.pairs = stored_pairs(table, summary["fingerprint"]) if self.variant.by_role else None

    def start(self) -> Pass:
        """Return a pass that has read the events that the weights were trained on."""
        reading = Pass(self.events, by_role=self.variant.by_role, standard=self.standard)
        reading.skip(self.events.stream.splits[1])
        return reading

    def second_of(self, at: datetime | None) -> float:
        """Return `at` on the stream's clock, after reading every event before it."""
        stream = self.events.stream
        position = self.position_before(at, stream, stream.splits[1])
        if position < self.reading.position:
            self.reading = self.start()
        self.reading.skip(position)
        last = float(stream.seconds[position - 1])
        return last if at is None else max((at - stream.start).total_seconds(), last)

    def probabilities(self, node: int, at: datetime | None) -> np.ndarray:
        """Return each node's probability of being the target of `node`'s next event, (N)."""
        answers = self.reading.ask(node, self.second_of(at))
        total = log_intensity(scored_answers(self.weights, self.layout, answers))[0].double()
        total[node] = -torch.inf
        return total.softmax(0).numpy()

    def predict(self, node: str | int, at: datetime | None = None, top: int = 10) -> Prediction:
        """Forecast as every model does, with columns that explain each partner and give the expected time.

        `why` gives the reason in words; `contributions` is what each group of statistics adds to log λ over
        the average candidate; `edge_type` is the most probable edge type of such an event, null for the base
        rate. Where waiting times are learned, `within_day` is the probability that the node acts on the
        partner within a day, and `expected_days` the expected wait; otherwise both are null.
        """
        prediction = super().predict(node, at, top)
        rows, source = prediction.partners, self.number_of(node)
        partners = rows["node"].to_numpy()
        explanation = explain(self.reading, self.weights, self.layout, source, self.second_of(at), partners)
        places = np.searchsorted(explanation.candidates, partners).tolist()
        rows = rows.with_columns(
            why=pl.Series(map(explanation.why, places), dtype=pl.String),
            contributions=pl.Series(map(explanation.contributions, places)),
            edge_type=pl.Series(map(explanation.edge_type, places), dtype=pl.Int32),
            **self.times(source, partners.astype(np.int64), self.second_of(at)),
        )
        return replace(prediction, partners=rows)

    def times(self, node: int, partners: np.ndarray, now: float) -> dict[str, pl.Series | pl.Expr]:
        """Return columns with the expected times at which `node` acts on each of `partners`."""
        if self.pairs is None:
            return dict.fromkeys(("within_day", "expected_days"), pl.lit(None, pl.Float64))
        # The hazard model has its own standardization.
        times = forecast_pairs(self.pairs, self.reading.as_listed().ask(node, now, others=partners).x)
        return {
            "within_day": pl.Series(times.within["1 d"]),
            "expected_days": pl.Series(times.expected / DAY),
        }

"""Forecasts of a trained model: probabilities of a node's next communication partners."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl
import torch
from torch import Tensor

from model.checkpoint import read_tensors
from model.choice import Chosen, Learned
from model.encoder import Workspace
from model.forward import advance_in_batches, current_embeddings
from model.identity import SENDERS
from model.parameters import Parameters, shapes_of
from model.prediction import Prediction, late_note, uniform_note
from model.ranking import Frequencies, partner_densities
from model.run import generators
from model.state import State
from model.stream import COMMUNICATION, Stream, load_stream
from pipeline.event_table import has_event_table
from pipeline.lake import read_parquet
from pipeline.rem_variants import REMOVAL, RemVariant
from pipeline.results.trained import DATASET, STATE, read_facts
from pipeline.variants import Variant

NEAREST = 3  # names suggested in an error message


class Forecaster(ABC):
    """The common forecasting interface of trained models.

    Subclasses implement `probabilities`; node lookup and the result type are shared. `last_event` is the time
    of the last event of the data.
    """

    def __init__(self, dataset: str, names: Sequence[str], last_event: datetime | None = None) -> None:
        self.dataset, self.names, self.last_event = dataset, list(names), last_event
        self.nodes = {name: node for node, name in enumerate(self.names)}

    @abstractmethod
    def probabilities(self, node: int, at: datetime | None) -> np.ndarray:
        """Return each node's probability (N) to be the next communication partner of `node` at `at`."""

    def predict(self, node: str | int, at: datetime | None = None, top: int = 10) -> Prediction:
        """Forecast the likeliest partners of the next communication of `node`, the likeliest first.

        A string is looked up as a node name first, then, if decimal, as a node number; an int is always a
        number. The forecast uses all events before `at`, or all events if `at` is None. Probabilities sum to
        1 over all other nodes; the `top` partners are returned. Print the result, or call its `frame()`:
        columns `partner` (name), `node` (number) and `probability`.
        """
        if top < 1:
            raise ValueError(f"top takes 1 or more, not {top}")
        source = self.number_of(node)
        probabilities = self.probabilities(source, at)
        likeliest = np.argsort(-probabilities, kind="stable")
        likeliest = likeliest[likeliest != source]
        partners = pl.DataFrame(
            {
                "partner": [self.names[partner] for partner in likeliest[:top]],
                "node": likeliest[:top].astype(np.int32),
                "probability": probabilities[likeliest[:top]],
            }
        )
        notes = (*late_note(at, self.last_event), *uniform_note(probabilities[likeliest]))
        return Prediction(self.names[source], partners, notes)

    @staticmethod
    def position_before(at: datetime | None, stream: Stream, learned: int) -> int:
        """Return the number of events before `at`; ValueError if `at` has a zone or is too early."""
        if at is None:
            return len(stream)
        if at.tzinfo is not None:
            raise ValueError(f"at takes a time without a zone, by the dataset's own clock, not {at}")
        position = int(np.searchsorted(stream.seconds, (at - stream.start).total_seconds()))
        if position < learned:
            last = stream.moment(learned)
            raise ValueError(f"at takes a time after {last}: the model has learned from events until then")
        return position

    def number_of(self, node: str | int) -> int:
        """Return the number of a node given by name or number, as in `predict`.

        Raise ValueError for an unknown node.
        """
        if isinstance(node, str):
            if node in self.nodes:
                return self.nodes[node]
            if node.isdecimal():
                return self.number_of(int(node))
            nearest = get_close_matches(node, self.names, NEAREST, cutoff=0.0)
            raise ValueError(
                f"node takes the name of a node of {self.dataset!r}, not {node!r}; "
                f"the nearest names are {', '.join(map(repr, nearest))}"
            )
        if not 0 <= node < len(self.names):
            raise ValueError(
                f"node takes a name, or a number from 0 to {len(self.names) - 1}, in {self.dataset!r}, "
                f"not {node}"
            )
        return int(node)


@dataclass(frozen=True, kw_only=True)
class Trained:
    """One seed of a finished training: weights, and the state before the test period."""

    variant: Variant
    seed: int
    batch: int
    senders: int
    width: int
    learned: Learned


class DensityForecaster(Forecaster):
    """A trained DyRep, LDG, GCN or GAT: scores partners by conditional density, as in the test ranking."""

    def __init__(self, stream: Stream, names: Sequence[str], trained: Trained) -> None:
        super().__init__(stream.name, names, stream.moment(len(stream)))
        self.stream, self.trained = stream, trained
        self.parameters = Parameters(shapes_of(trained.variant, trained.width), trained.learned.weights)
        frequent = trained.variant.frequency
        self.frequencies = Frequencies.of_events(stream, stream.splits[1]) if frequent else None
        self.latest: tuple[int, Tensor | State] | None = None

    def probabilities(self, node: int, at: datetime | None) -> np.ndarray:
        """Return densities normalized over other nodes; + Freq averages them with past frequencies."""
        log_density = self.log_density(node, self.position_of(at)).clone()
        log_density[node] = float("-inf")
        shares = log_density.softmax(0)
        if self.frequencies is not None:
            shares = shares + self.frequencies.rows(np.array([node]))[0]
        return (shares / shares.sum()).numpy()

    def position_of(self, at: datetime | None) -> int:
        """Return the number of events before `at`, which the forecast uses."""
        return self.position_before(at, self.stream, self.trained.learned.state.position)

    def log_density(self, node: int, position: int) -> Tensor:
        """Return log densities of `node` with all nodes (N) after `position` events.

        Caches the densities of all pairs or, for a large network, the state at the latest position.
        """
        if self.latest is None or self.latest[0] != position:
            trained, named = self.trained, self.parameters.named
            state = trained.learned.state.of_seeds([0])
            random = generators((trained.seed,), "ranking")
            with torch.no_grad():
                if state.is_large:
                    from model.large.advance import carry  # imported lazily: compiles with numba

                    carry(
                        self.stream,
                        trained.variant,
                        named,
                        state,
                        position,
                        random,
                        trained.batch,
                        trained.senders,
                        Workspace(),
                    )
                    self.latest = position, state
                else:
                    for _ in advance_in_batches(
                        self.stream, trained.variant, named, state, position, random, trained.batch
                    ):
                        pass
                    z = current_embeddings(trained.variant, state, named)
                    self.latest = position, partner_densities(self.stream, z, state, named)[0]
        latest = self.latest[1]
        if isinstance(latest, Tensor):
            return latest[node]
        from model.large.ranking import log_densities

        with torch.no_grad():
            nodes = np.array([node])
            return log_densities(self.stream, latest.z, latest, self.parameters.named, nodes, COMMUNICATION)[
                0, 0
            ]


def load(folder: Path | str, dataset: Path | str | None = None) -> Forecaster:
    """Load the trained model in `folder` as a forecaster; the first of its seeds is used.

    `dataset` is the folder of the event table it was trained on. It is optional if `folder` is
    `models/<dataset>/<key>` of a home or the model was trained on a frame. Side effect: one torch thread.
    """
    torch.set_num_threads(1)  # as in training: reproduces the stored predictions bit by bit
    folder = Path(folder)
    summary = read_facts(folder)
    if summary is None:
        fault = "model.json is missing" if folder.is_dir() else "there is no such folder"
        raise FileNotFoundError(
            f"no finished training in {folder} ({fault}): train a model with `ldg train DATASET VARIANT` in "
            "a shell or with `from model import train` in Python, or pass the folder of a finished one"
        )
    if dataset is not None:
        table = Path(dataset)
    elif has_event_table(folder / DATASET):
        table = folder / DATASET
    else:
        table = home_of_training(folder) / "datasets" / summary["dataset"]
    if not has_event_table(table):
        raise FileNotFoundError(
            f"no event table in {table}: pass dataset, the folder of the table {summary['dataset']!r} "
            f"that {folder} was trained on"
        )
    names = read_parquet(table / "nodes.parquet").sort("node")["name"].to_list()
    if "of_ldg" in summary["variant"]:
        raise ValueError(f"{folder} holds {summary['key']}, which {REMOVAL}; train {RemVariant().key}")
    if "form" in summary["variant"]:
        from model.rem.forecast import RemForecaster  # imported lazily: compiles with numba

        return RemForecaster(folder, table, summary, names)
    variant = Variant(**summary["variant"])
    stream = load_stream(table, variant.relation)
    if stream.fingerprint != summary["fingerprint"]:
        raise ValueError(
            f"{folder} was trained on another event table than the one in {table}: train it again"
        )
    tensors, _ = read_tensors(folder / STATE)
    trained = Trained(
        variant=variant,
        seed=summary["seeds"][0],
        batch=summary["settings"]["batch"],
        senders=summary["settings"].get("senders", SENDERS),
        width=summary["width"],
        learned=Chosen.from_tensors(tensors).test.of_seeds([0]),
    )
    return DensityForecaster(stream, names, trained)


def home_of_training(folder: Path) -> Path:
    """Return the home of a training folder `<home>/models/<dataset>/<key>`."""
    return folder.resolve().parents[2]

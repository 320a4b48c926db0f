"""A relational-event model that follows: its statistics update per event, its weights per day."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from model.checkpoint import read_tensors, write_tensors
from model.history.events import Events, frequent_types, seconds_of_day, seconds_of_week
from model.history.reading import Answers, Pass
from model.history.registry import listed
from model.history.room import from_arrays, to_arrays
from model.history.standard import Standard
from model.history.state import History, new_history
from model.rem.audience import most_popular, near_to, spread_audience
from model.rem.candidates import draw_candidates
from model.rem.learning import Fit, Sample, learn_epoch, learn_rem_batch, learned_events, new_fit, read_sample
from model.rem.network import Layout, layout_of
from model.rem.ranking import compare, score_candidates, score_everyone
from model.rem.settings import VERSION, RemSettings
from model.rem.standard import standard_of, standard_tensors
from model.stream import Stream
from pipeline.following.events import FOLLOWED_EVENTS
from pipeline.following.outlook import EVERYONE, FEW, Outlook, Row
from pipeline.following.rule import FOLLOWING, model_that_follows
from pipeline.following.scores import RANKED, scored_communications
from pipeline.following.window import Window, file_day_span
from pipeline.names import COMMUNICATION_KIND
from pipeline.progress import Progress
from pipeline.rem_variants import RemVariant
from pipeline.results.metrics import mid_ranks
from pipeline.results.pairs import Pairs

Log = Callable[[str], None]
MOST_LEARNED = 40_000  # latest events of a window used for training; all events update the statistics
MOST_MEASURED = 1_000  # events used to choose the epoch
RATE = 3e-4  # learning rate of daily updates: small and constant
PAIRS_AT_ONCE = 8192  # scored together: bounds memory for any number of nodes


@dataclass(frozen=True)
class RemFamily:
    """Variant and settings that followers of one relational-event variant share."""

    variant: RemVariant
    settings: RemSettings

    def identity(self) -> dict[str, Any]:
        """Return the identity of these followers: variant, settings, version."""
        return {
            "version": VERSION,
            "variant": self.variant.as_json(),
            "settings": asdict(self.settings),
            "rate": RATE,
            "most_learned": MOST_LEARNED,
        }

    def train(
        self, window: Window, nodes: int, past: pl.DataFrame, judged: pl.DataFrame, log: Log | None
    ) -> tuple["RemFollower", dict[str, Any]]:
        """Train for several epochs on the latest of `past`; return the follower of the epoch that ranks
        `judged` best, and its facts for `trainings`.
        """
        torch.set_num_threads(1)
        started = time.perf_counter()
        begin = file_day_span(window.first)[0]
        types = frequent_types(past)
        history = new_history(nodes, len(types), seconds_of_day(begin), seconds_of_week(begin))
        follower = RemFollower(self, begin, types, new_fit(self.layout(types), self.settings), history)
        if not past.is_empty():
            follower.standardize(past)
        sample_random = np.random.default_rng(2_013)
        measured: list[float] = []
        best = follower.fit
        positions = scored_communications(judged, MOST_MEASURED, nodes)
        for epoch in range(self.settings.epochs):
            follower.history = from_arrays(to_arrays(history))
            label = f"{self.variant.name}: epoch {epoch + 1}/{self.settings.epochs}"
            sample = follower.sample(past, MOST_LEARNED, sample_random)
            with Progress(label, len(sample.x), "events", log) as progress:
                learn_epoch(
                    follower.fit, [sample], len(sample.x), follower.layout, self.settings, progress.advance
                )
            ranked = follower.rank(judged, positions)
            measured.append(
                float(ranked.select("rank_v", "rank_u").to_numpy().mean()) if len(positions) else 0.0
            )
            if measured[-1] <= min(measured):
                best = copied(follower.fit)
        follower.fit = best
        return follower, {
            "epochs": len(measured),
            "chosen_epoch": int(np.argmin(measured)) + 1 if measured else 0,
            "mar": min(measured, default=None),
            "parameters": sum(tensor[0].numel() for tensor in best.weights.values()),
            "seconds": time.perf_counter() - started,
        }

    def layout(self, types: tuple[str, ...]) -> Layout:
        """Return the network layout for these event types."""
        return layout_of(self.variant, self.settings, listed(len(types)))

    def load(self, path: Path) -> tuple["RemFollower", dict[str, Any]]:
        """Read a saved follower and its header."""
        torch.set_num_threads(1)
        tensors, header = read_tensors(path)
        facts = header["follower"]
        types = tuple(facts["types"])
        fit = new_fit(self.layout(types), self.settings)
        for name in fit.weights:
            fit.weights[name] = tensors[f"weights.{name}"]
            fit.moments[name] = (tensors[f"moment.0.{name}"], tensors[f"moment.1.{name}"])
        fit.averaged = {name: tensor.clone() for name, tensor in fit.weights.items()}
        fit.steps, fit.standard = facts["steps"], standard_of(tensors)
        history = from_arrays(
            {
                name.removeprefix("history."): tensor.numpy()
                for name, tensor in tensors.items()
                if name.startswith("history.")
            }
        )
        return RemFollower(self, datetime.fromisoformat(facts["begin"]), types, fit, history), header


class RemFollower:
    """Weights with the optimizer's moments, and the statistics of all events since `begin`.

    Events are frames with u, v, type, kind and created_at, in time order, of one or more whole days.
    """

    def __init__(
        self, family: RemFamily, begin: datetime, types: tuple[str, ...], fit: Fit, history: History
    ) -> None:
        self.family, self.begin, self.types, self.fit, self.history = family, begin, types, fit, history
        self.layout = family.layout(types)
        self.nodes = len(history.head)

    def stream(self, events: pl.DataFrame) -> Events:
        """Convert events to the input of the statistics, numbered from 0."""
        place = {name: number for number, name in enumerate(self.types)}
        count = events.height
        return Events(
            Stream(
                name=FOLLOWING,
                fingerprint="",
                nodes=self.nodes,
                u=events["u"].to_numpy().astype(np.int64),
                v=events["v"].to_numpy().astype(np.int64),
                k=(events["kind"] == COMMUNICATION_KIND).to_numpy().astype(np.int64),
                seconds=(events["created_at"] - self.begin).dt.total_microseconds().to_numpy() / 1e6,
                start=self.begin,
                idx=np.arange(count),
                splits=(count, count),
                associations=np.empty((0, 2), np.int64),
                features=None,
            ),
            self.types,
            np.array([place.get(name, len(self.types) - 1) for name in events["type"]], np.int64),
            np.empty((0, 2), np.int64),
            seconds_of_day(self.begin),
            seconds_of_week(self.begin),
        )

    def renumber_and_begin_pass(self, events: pl.DataFrame, history: History) -> Pass:
        """Return a pass over `events` that continues `history`; positions restart at 0."""
        history.sizes[2] = 0  # positions count from these events
        by_role, standard = self.family.variant.by_role, self.fit.standard
        return Pass(self.stream(events), by_role=by_role, standard=standard, history=history)

    def standardize(self, past: pl.DataFrame) -> None:
        """Set means and deviations of the statistics from every eighth event."""
        reading = self.renumber_and_begin_pass(past, from_arrays(to_arrays(self.history)))
        positions = self.learnable(reading, MOST_LEARNED)[::8]
        candidates = draw_candidates(
            reading.events.stream, positions, self.family.settings.candidates, np.random.default_rng(7)
        )
        self.fit.standard = Standard.of(reading.read(past.height, positions, candidates).x)

    def learnable(self, reading: Pass, most: int) -> np.ndarray:
        """Return positions to learn from: the latest communications; at the start, not the first ones."""
        stream, settings = reading.events.stream, self.family.settings
        begin = 0 if int(reading.history.sizes[0]) else min(settings.silent, len(stream) // 10)
        return learned_events(stream, begin, len(stream))[-most:]

    def sample(self, events: pl.DataFrame, most: int, random: np.random.Generator) -> Sample:
        """Read statistics of the latest of `events` and of drawn candidates; all events enter the history."""
        reading = self.renumber_and_begin_pass(events, self.history)
        positions = self.learnable(reading, most)
        sample = read_sample(reading, positions, self.family.settings, self.layout, random)
        reading.skip(len(reading.events.stream))
        self.history = reading.history
        return sample

    def learn(self, events: pl.DataFrame, day: date) -> None:
        """Take one optimizer step per batch of the day's events, in time order."""
        torch.set_num_threads(1)
        settings = self.family.settings
        if self.fit.standard is None and not events.is_empty():
            self.standardize(events)
        sample = self.sample(events, MOST_LEARNED, np.random.default_rng([day.toordinal(), 2_013]))
        generators = [
            torch.Generator().manual_seed((seed + 1) * 1_000_003 + day.toordinal()) for seed in settings.seeds
        ]
        for start in range(0, len(sample.x), settings.batch):
            rows = slice(start, start + settings.batch)
            learn_rem_batch(
                self.fit, sample.x[rows], sample.met[rows], self.layout, settings, RATE, generators
            )

    def rank(self, events: pl.DataFrame, positions: np.ndarray) -> pl.DataFrame:
        """Rank the events at `positions` against all nodes; the follower does not change.

        Columns: position, rank_v, rank_u, and log_score, the mean log probability of the true partner in both
        directions. The statistics advance with each event, the weights do not.
        """
        torch.set_num_threads(1)
        if not len(positions) or self.fit.standard is None:
            return pl.DataFrame(schema=RANKED)
        reading = self.renumber_and_begin_pass(events, from_arrays(to_arrays(self.history)))
        if self.nodes > EVERYONE:
            return self.rank_among_many(reading, positions)
        stream, nodes = reading.events.stream, self.nodes
        everyone = np.arange(nodes)
        ranks, logs = np.empty((len(positions), 2)), np.empty((len(positions), 2))
        for start in range(0, len(positions), batch := max(1, PAIRS_AT_ONCE // (2 * nodes))):
            part = positions[start : start + batch]
            x, met = reading.read(int(part[-1]) + 1, part, np.broadcast_to(everyone, (len(part), 2, nodes)))
            ends = stream.u[part], stream.v[part]
            rows = np.arange(len(part))
            for side in range(2):
                anchors, truth = ends[side], ends[1 - side]
                answers = Answers(np.ascontiguousarray(x[:, side]), met[:, side])
                acts = side == 0 or not reading.by_role
                scores = score_everyone(self.fit.weights, self.layout, answers, anchors, acts=acts)[0]
                ranks[start : start + batch, side] = mid_ranks(scores, truth, anchors)
                scores = scores.astype(np.float64)
                scores[rows, anchors] = -np.inf
                largest = scores.max(1, keepdims=True)
                total = largest[:, 0] + np.log(np.exp(scores - largest).sum(1))
                logs[start : start + batch, side] = scores[rows, truth] - total
        return pl.DataFrame(
            {"position": positions, "rank_v": ranks[:, 0], "rank_u": ranks[:, 1], "log_score": logs.mean(1)},
            schema=RANKED,
        )

    def rank_among_many(self, reading: Pass, positions: np.ndarray) -> pl.DataFrame:
        """Rank as `rank` in a large network, event by event."""
        rows = []
        for position in positions.tolist():
            reading.skip(position)
            v, u = (compare(reading, position, side, self.fit.weights, self.layout) for side in range(2))
            log_score = (v.log_share[0] + u.log_share[0]) / 2
            rows.append((position, float(v.ranks[0]), float(u.ranks[0]), float(log_score)))
        return pl.DataFrame(rows, schema=RANKED, orient="row")

    def asking(self) -> Pass:
        """Return a pass for queries on the current history."""
        return self.renumber_and_begin_pass(pl.DataFrame(schema=FOLLOWED_EVENTS), self.history)

    def second_of(self, moment: datetime) -> float:
        """Return a moment on the clock of the statistics."""
        return (moment - self.begin).total_seconds()

    def outlook(self, as_of: datetime, also: Pairs) -> Outlook:
        """Compute log λ of every ordered pair as of a moment; all are equal before any training.

        In a large network a sample represents the rest of each row; pairs of `also` have weight 1.
        """
        torch.set_num_threads(1)
        if self.nodes > EVERYONE:
            return Outlook.of_rows(self.rows(self.second_of(as_of), also))
        log_intensity = np.zeros((self.nodes, self.nodes), np.float32)
        if self.fit.standard is not None:
            reading, now = self.asking(), self.second_of(as_of)
            for nodes in pieces_of_nodes(self.nodes, max(1, PAIRS_AT_ONCE // self.nodes)):
                rows = zip(*(reading.ask(int(node), now) for node in nodes), strict=True)
                answers = Answers(*(np.stack(part) for part in rows))
                log_intensity[nodes] = score_everyone(
                    self.fit.weights, self.layout, answers, nodes, acts=True
                )[0]
        np.fill_diagonal(log_intensity, -np.inf)
        return Outlook.whole(log_intensity)

    def rows(self, now: float, also: Pairs) -> Iterator[Row]:
        """Yield each node's row in a large network: partners, ends of paths, popular nodes, and a sample."""
        reading, popular = self.asking(), most_popular(self.history, FEW)
        for node in range(self.nodes):
            met = also.partner[also.first[node] : also.first[node + 1]]
            near = np.concatenate([near_to(reading, node, now), popular, met])
            audience = spread_audience(node, near, self.nodes, FEW)
            yield Row.of(node, *audience, self.scores(reading, node, now, audience.nodes, acts=True))

    def scores(self, reading: Pass, node: int, now: float, others: np.ndarray, *, acts: bool) -> np.ndarray:
        """Return log λ of a node, which `acts` or is acted on, with `others` (M): (M)."""
        if self.fit.standard is None:
            return np.zeros(len(others))
        return score_candidates(
            reading, self.fit.weights, self.layout, node, now, others, acts=acts or not reading.by_role
        )[0]

    def intensities(self, node: int, as_of: datetime, *, acts: bool) -> np.ndarray:
        """Compute log λ (N) of `node` acting on everyone, or of everyone acting on it."""
        torch.set_num_threads(1)
        return self.scores(self.asking(), node, self.second_of(as_of), np.arange(self.nodes), acts=acts)

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Write weights, moments, standard and statistics to one file."""
        fit = self.fit
        tensors = {f"weights.{name}": tensor for name, tensor in fit.weights.items()}
        for name, moments in fit.moments.items():
            tensors |= {f"moment.{number}.{name}": moment for number, moment in enumerate(moments)}
        if fit.standard is not None:
            tensors |= standard_tensors(fit.standard)
        tensors |= {
            f"history.{name}": torch.from_numpy(array) for name, array in to_arrays(self.history).items()
        }
        facts = {"types": list(self.types), "begin": self.begin.isoformat(), "steps": fit.steps}
        write_tensors(tensors, header | {"follower": facts}, path)


def family_of(name: str) -> RemFamily:
    """Return the family of the variant `name`; raise ValueError if it cannot follow."""
    return RemFamily(model_that_follows(name), RemSettings(seeds=(0,)))


def pieces_of_nodes(count: int, size: int) -> Iterator[np.ndarray]:
    """Yield the nodes 0 … count − 1 in pieces of `size`."""
    for start in range(0, count, size):
        yield np.arange(start, min(start + size, count))


def copied(fit: Fit) -> Fit:
    """Return a copy of `fit` (without losses) that further training does not change."""
    return Fit(
        {name: tensor.clone() for name, tensor in fit.weights.items()},
        {name: tensor.clone() for name, tensor in fit.averaged.items()},
        {name: (mean.clone(), square.clone()) for name, (mean, square) in fit.moments.items()},
        fit.steps,
        fit.epoch,
        fit.standard,
    )

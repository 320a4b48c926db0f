"""A model of the paper's that follows: its state moves with every event, its weights with every day.

The survival integral reaches back `HORIZON` events: so many are kept with the model, which counts from there.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import torch
from torch import Tensor

from model.checkpoint import of_prefix, prefixed, read_tensors, write_tensors
from model.epochs import learn_batch
from model.following.follower import MOST_LEARNED, MOST_MEASURED, Log
from model.forward import advance_in_batches, current_embeddings
from model.identity import VERSION, TrainingSettings
from model.large.ranking import AT_ONCE, log_densities
from model.parameters import Parameters, shapes_of
from model.ranking import HORIZON, log_density, partner_densities, ranks, without_self
from model.rem.audience import spread_audience
from model.run import Run, generators, new_run
from model.state import State, initial_state
from model.stream import COMMUNICATION, Stream
from pipeline.following.forecasts import PARTNERS
from pipeline.following.outlook import EVERYONE, FEW, Outlook, Row
from pipeline.following.rule import FOLLOWING
from pipeline.following.scores import RANKED, scored_communications
from pipeline.following.window import Window, file_day_span
from pipeline.names import COMMUNICATION_KIND
from pipeline.progress import Progress
from pipeline.results.pairs import Pairs
from pipeline.variants import Variant

NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class PaperFamily:
    """Followers of one of the paper's variants, with one seed."""

    variant: Variant
    settings: TrainingSettings

    def identity(self) -> dict[str, Any]:
        """Variant, settings, and version."""
        return {
            "version": VERSION,
            "variant": asdict(self.variant),
            "settings": asdict(self.settings),
            "most_learned": MOST_LEARNED,
        }

    def train(
        self, window: Window, nodes: int, past: pl.DataFrame, judged: pl.DataFrame, log: Log | None
    ) -> tuple["PaperFollower", dict[str, Any]]:
        """Epochs over the latest of `past`; the one that ranks `judged` best is chosen."""
        torch.set_num_threads(1)
        started = time.perf_counter()
        begin, settings = file_day_span(window.first)[0], self.settings
        run = new_run(stream_of(past, begin, nodes), self.variant, settings)
        positions = scored_communications(judged, MOST_MEASURED, nodes)
        measured: list[float] = []
        best = PaperFollower.after(self, begin, run)
        for epoch in range(settings.epochs):
            run.state = initial_state(run.stream, self.variant, run.d, generators(settings.seeds, "start"))
            label = f"{self.variant.key}: epoch {epoch + 1}/{settings.epochs}"
            with Progress(label, len(run.stream), "events", log) as progress:
                pass_by(run, max(len(run.stream) - MOST_LEARNED, 0), progress)
                learn_to_end(run, progress)
            now = PaperFollower.after(self, begin, run)
            ranked = now.rank(judged, positions).select("rank_v", "rank_u").to_numpy()
            measured.append(float(ranked.mean()) if ranked.size else 0.0)
            if measured[-1] <= min(measured):
                best = now
        return best, {
            "epochs": len(measured),
            "chosen_epoch": int(np.argmin(measured)) + 1,
            "mar": min(measured),
            "parameters": best.parameters.flat.shape[1],
            "seconds": time.perf_counter() - started,
        }

    def load(self, path: Path) -> tuple["PaperFollower", dict[str, Any]]:
        """The follower that was saved."""
        torch.set_num_threads(1)
        tensors, header = read_tensors(path)
        facts = header["follower"]
        weights, moments = tensors["weights"], (tensors["moment.0"], tensors["moment.1"])
        follower = PaperFollower(
            self,
            datetime.fromisoformat(facts["begin"]),
            Parameters(shapes_of(self.variant, facts["width"]), weights),
            moments,
            facts["steps"],
            State.from_tensors(of_prefix("state.", tensors)),
            {name: tensor.numpy() for name, tensor in of_prefix("past.", tensors).items()},
        )
        return follower, header


@dataclass
class PaperFollower:
    """Weights with Adam's moments, the state, and the `past` (u, v, k, seconds) that survival reaches."""

    family: PaperFamily
    begin: datetime
    parameters: Parameters
    moments: tuple[Tensor, Tensor]
    steps: int
    state: State
    past: dict[str, np.ndarray]

    @classmethod
    def after(cls, family: PaperFamily, begin: datetime, run: Run) -> Self:
        """What a run has come to at the end of its stream: a copy, with as much of the past as is needed."""
        stream, state = run.stream, run.state.of_seeds([0])
        gone = max(state.position - HORIZON, 0)
        state.position -= gone
        state.survival = state.survival[:, gone : gone + state.position + 1].clone()
        past = {"u": stream.u, "v": stream.v, "k": stream.k, "seconds": stream.seconds}
        return cls(
            family,
            begin,
            Parameters(run.parameters.shapes, run.parameters.flat.clone()),
            (run.moments[0].clone(), run.moments[1].clone()),
            run.step,
            state,
            {name: array[gone : gone + state.position].copy() for name, array in past.items()},
        )

    @property
    def nodes(self) -> int:
        """How many people there are."""
        return self.state.z.shape[1]

    def going_on(self, events: pl.DataFrame, random: list[torch.Generator]) -> Run:
        """A run that is about to see `events`; this model stays as it is."""
        stream = stream_of(events, self.begin, self.nodes, self.past)
        state = self.state.of_seeds([0])
        room = torch.zeros(1, events.height, dtype=state.survival.dtype)
        state.survival = torch.cat([state.survival, room], 1)  # (1, T + 1)
        return Run(
            stream,
            self.family.variant,
            self.family.settings,
            Parameters(self.parameters.shapes, self.parameters.flat.clone()),
            (self.moments[0].clone(), self.moments[1].clone()),
            state,
            random,
            step=self.steps,
        )

    def learn(self, events: pl.DataFrame, day: date) -> None:
        """A step of the optimizer for every batch of the day's events, in their order."""
        torch.set_num_threads(1)
        seeds = self.family.settings.seeds
        random = [torch.Generator().manual_seed((seed + 1) * 1_000_003 + day.toordinal()) for seed in seeds]
        run = self.going_on(events, random)
        learn_to_end(run)
        vars(self).update(vars(PaperFollower.after(self.family, self.begin, run)))

    def rank(self, events: pl.DataFrame, positions: np.ndarray) -> pl.DataFrame:
        """Ranks and log scores, every node a candidate; see `Follower`."""
        torch.set_num_threads(1)
        if not len(positions):
            return pl.DataFrame(schema=RANKED)
        run = self.going_on(events, generators(self.family.settings.seeds, "ranking"))
        if run.state.is_large:
            return rank_in_large_network(run, positions)
        named, parts = run.parameters.named, []
        for seen in advance_in_batches(
            run.stream, run.variant, named, run.state, len(run.stream), run.random, run.settings.batch
        ):
            sides = []
            for source, target in ((seen.batch.u, seen.batch.v), (seen.batch.v, seen.batch.u)):
                scores = log_density(
                    seen.versions, seen.batch, source, seen.symmetric, seen.rate, run.state.survival
                )
                logs = without_self(scores, source).double().log_softmax(2)  # (1, B, N)
                of_target = logs[0, torch.arange(len(target)), torch.from_numpy(target)]
                sides.append(torch.stack([ranks(scores, target, source)[0].double(), of_target], 1))
            parts.append(torch.stack(sides, 1))  # (B, 2, 2): both sides, rank and logarithm
        ranked = torch.cat(parts).numpy()[positions]
        return pl.DataFrame(
            {
                "position": positions,
                "rank_v": ranked[:, 0, 0],
                "rank_u": ranked[:, 1, 0],
                "log_score": ranked[:, :, 1].mean(1),
            },
            schema=RANKED,
        )

    def outlook(self, as_of: datetime, also: Pairs) -> Outlook:  # noqa: ARG002 - others know the hour
        """log λ, less what each pair let pass since its last event: it moves with events alone."""
        torch.set_num_threads(1)
        if self.nodes > EVERYONE:
            return Outlook.of_rows(self.rows(also))
        stream = self.stream()
        with torch.no_grad():
            z = current_embeddings(self.family.variant, self.state, self.parameters.named)
            densities = partner_densities(stream, z, self.state, self.parameters.named)[0]
        return Outlook.whole(densities.float().numpy())

    def rows(self, also: Pairs) -> Iterator[Row]:
        """The row of every node in a large network: the likeliest of all, `also`, and a few more.

        Everyone is looked at, block by block: only so is it known who is likeliest.
        """
        for nodes in np.array_split(np.arange(self.nodes), -(-self.nodes // AT_ONCE)):
            densities = self.densities(nodes)
            densities[np.arange(len(nodes)), nodes] = -np.inf
            likeliest = np.argpartition(-densities, PARTNERS, axis=1)[:, :PARTNERS]
            largest = densities.max(1)
            total = np.exp(densities - largest[:, None]).sum(1, dtype=np.float64)
            for row, node in enumerate(nodes.tolist()):
                met = also.partner[also.first[node] : also.first[node + 1]]
                near = np.concatenate([likeliest[row], met])
                partner, weight = spread_audience(node, near, self.nodes, FEW)
                logs = densities[row, partner]
                yield Row(partner, weight, logs, float(largest[row]), float(total[row]))

    def intensities(self, node: int, as_of: datetime, *, acts: bool) -> np.ndarray:  # noqa: ARG002
        """log λ (N) of a node with everyone, whoever acts; see `Follower`."""
        torch.set_num_threads(1)
        return self.densities(np.array([node]))[0]

    def densities(self, nodes: np.ndarray) -> np.ndarray:
        """The same of several `nodes` (B): (B, N)."""
        named = self.parameters.named
        with torch.no_grad():
            z = current_embeddings(self.family.variant, self.state, named)
            return log_densities(self.stream(), z, self.state, named, nodes, COMMUNICATION)[0].numpy()

    def stream(self) -> Stream:
        """The past that survival reaches."""
        return stream_of(pl.DataFrame(), self.begin, self.nodes, self.past)

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Weights, moments, state and the past that is looked back on in one file."""
        tensors = {"weights": self.parameters.flat, "moment.0": self.moments[0], "moment.1": self.moments[1]}
        tensors |= prefixed("state.", self.state.tensors())
        tensors |= prefixed("past.", {name: torch.from_numpy(array) for name, array in self.past.items()})
        facts = {"begin": self.begin.isoformat(), "steps": self.steps, "width": self.state.z.shape[2]}
        write_tensors(tensors, header | {"follower": facts}, path)


def stream_of(
    events: pl.DataFrame, begin: datetime, nodes: int, past: dict[str, np.ndarray] | None = None
) -> Stream:
    """Events as the models read them, after those of `past`; nobody is associated before the first."""
    columns: dict[str, np.ndarray] = {"u": NOTHING, "v": NOTHING, "k": NOTHING, "seconds": np.empty(0)}
    if not events.is_empty():
        columns = {
            "u": events["u"].to_numpy().astype(np.int64),
            "v": events["v"].to_numpy().astype(np.int64),
            "k": (events["kind"] == COMMUNICATION_KIND).to_numpy().astype(np.int64),
            "seconds": (events["created_at"] - begin).dt.total_microseconds().to_numpy() / 1e6,
        }
    if past is not None:
        columns = {name: np.concatenate([past[name], array]) for name, array in columns.items()}
    count = len(columns["u"])
    return Stream(
        name=FOLLOWING,
        fingerprint="",
        nodes=nodes,
        **columns,
        start=begin,
        idx=np.arange(count),
        splits=(count, count),
        associations=np.empty((0, 2), np.int64),
        features=None,
    )


def rank_in_large_network(run: Run, positions: np.ndarray) -> pl.DataFrame:
    """Ranks and log scores in a large network: the run's state is carried from one event to the next."""
    stream, state, named = run.stream, run.state, run.parameters.named
    begin, rows = state.position, []
    with torch.no_grad():
        for position in positions.tolist():
            carry_run_to(run, begin + position)
            ends = np.array([stream.u[state.position], stream.v[state.position]])
            scores = log_densities(stream, state.z, state, named, ends, COMMUNICATION)  # (1, 2, N)
            rank_v, rank_u = ranks(scores, ends[::-1].copy(), ends)[0].tolist()
            logs = without_self(scores, ends).double().log_softmax(2)[0]
            rows.append((position, rank_v, rank_u, float((logs[0, ends[1]] + logs[1, ends[0]]) / 2)))
    return pl.DataFrame(rows, schema=RANKED, orient="row")


def carry_run_to(run: Run, stop: int) -> None:
    """Carry the run of a followed model in a large network to `stop` without learning."""
    from model.large.advance import carry  # compiled: only where it is needed

    settings = run.settings
    given = run.stream, run.variant, run.parameters.named, run.state, stop, run.random
    carry(*given, settings.batch, settings.senders, run.workspace)


def pass_by(run: Run, stop: int, progress: Progress) -> None:
    """Carry the state to `stop` without learning."""
    with torch.no_grad():
        if run.state.is_large:
            carry_run_to(run, stop)
            progress.advance(stop)
            return
        for seen in advance_in_batches(
            run.stream, run.variant, run.parameters.named, run.state, stop, run.random, run.settings.batch
        ):
            progress.advance(len(seen.batch))


def learn_to_end(run: Run, progress: Progress | None = None) -> None:
    """A step of the optimizer for every batch that is left."""
    while (start := run.state.position) < len(run.stream):
        stop = min(start + run.settings.batch, len(run.stream))
        learn_batch(run, stop)
        if progress is not None:
            progress.advance(stop - start)

"""Training of a dataset's waiting times: both hazards are learned, scored and stored in one folder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from model.history.events import Events, load_events
from model.stream import COMMUNICATION, Stream
from model.when.hazard import HazardNetwork, bin_edges, forecast_masses, learn_hazard
from model.when.memory import node_waits, remember_events, sampled_waits
from model.when.pairs import EDGES, PairHazard, learn_pairs, moved_to, pair_masses, within_day
from model.when.questions import after_events, ask_pairs
from model.when.settings import WhenSettings, identity_of_waits, is_learned
from pipeline.lake import WAITS_FACTS, write_json, write_parquet
from pipeline.names import HAZARD, TEST, VALIDATION
from pipeline.results.waits import DAY, Waits, no_learn_forecasts, past_of, wait_scores, waits_between
from pipeline.schemas import CALIBRATION, FINGERPRINT, NEXT_EVENT_TIME, TABLE_END, Table

SEED = 0
NODE, PAIR = "node", "pair"

Scored = tuple[pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True)
class Period:
    """A split with events `[begin, end)`; its waits are forecast by hazards learned before `begin`."""

    split: str
    begin: int
    end: int

    def moments(self, stream: Stream) -> tuple[float, float]:
        """Return its begin and end in seconds; the last period ends a second after the last event."""
        last = float(stream.seconds[-1]) + 1
        begin, end = (
            float(stream.seconds[at]) if at < len(stream) else last for at in (self.begin, self.end)
        )
        return begin, end


def periods(stream: Stream) -> Iterator[Period]:
    """Yield validation and test, without periods that have no communication."""
    validation, test = stream.splits
    for period in (Period(VALIDATION, validation, test), Period(TEST, test, len(stream))):
        if (stream.k[period.begin : period.end] == COMMUNICATION).any():
            yield period


def split_waits(waits: Waits, period: Period, stream: Stream) -> tuple[Waits, Waits, np.ndarray]:
    """Return the waits seen before the period, those that begin in it, seen until its end, and their rows."""
    begin, end = period.moments(stream)
    until_end = waits.seen_until(end)
    rows = np.flatnonzero(until_end.began >= begin)
    return waits.seen_until(begin), until_end[rows], rows


def learn_waiting_times(
    dataset_folder: Path,
    folder: Path,
    settings: WhenSettings | None = None,
    log: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Learn the waiting times of nodes and pairs; return the content of waiting_times.json.

    Validation scores are those of hazards fitted on training events only; test scores are those of the stored
    hazards, fitted on training and validation. Up-to-date waiting times are not learned again.
    """
    torch.set_num_threads(1)
    settings = settings or WhenSettings()
    events = load_events(dataset_folder)
    stream = events.stream
    wanted = identity_of_waits(stream.name, stream.fingerprint, settings)
    if is_learned(folder, wanted):
        if log is not None:
            log(f"waiting times of {stream.name}: already learned from this event table; nothing to do")
        return wanted
    (folder / WAITS_FACTS).unlink(missing_ok=True)
    scores: list[pl.DataFrame] = []
    calibration: list[pl.DataFrame] = []
    for period in periods(stream):
        for subject, forecast in ((NODE, nodes_of_period), (PAIR, pairs_of_period)):
            hazard, tables = forecast(events, period, settings)
            if period.split == TEST:
                hazard.save(folder / f"{subject}s.safetensors")
            for parts, table in zip((scores, calibration), tables, strict=True):
                parts.append(table.with_columns(subject=pl.lit(subject), split=pl.lit(period.split)))
            if log is not None:
                log(f"waiting times of {stream.name}: {subject}s, {period.split}")
    for table, parts in ((NEXT_EVENT_TIME, scores), (CALIBRATION, calibration)):
        write_parquet(stored_rows(pl.concat(parts), table, stream), folder / f"{table.name}.parquet")
    write_json(wanted, folder / WAITS_FACTS)
    return wanted


def stored_rows(rows: pl.DataFrame, table: Table, stream: Stream) -> pl.DataFrame:
    """Return `rows` with dataset, fingerprint and table end, cast to the stored schema of `table`."""
    names = {"dataset": pl.lit(stream.name), FINGERPRINT.name: pl.lit(stream.fingerprint)}
    names |= {TABLE_END.name: pl.lit(stream.moment(len(stream)))}
    return table.stored().cast(rows.with_columns(**names))


def nodes_of_period(events: Events, period: Period, settings: WhenSettings) -> tuple[HazardNetwork, Scored]:
    """Return the node hazard learned before the period and the scores of the period's waits."""
    waits = node_waits(events.stream)[0]
    earlier, judged, rows = split_waits(waits, period, events.stream)
    edges = bin_edges(earlier, settings.nodes.bins)
    _, remembered = remember_events(events, edges)
    sample = sampled_waits(len(waits))
    before, after = np.flatnonzero(sample < len(earlier)), np.flatnonzero(np.isin(sample, rows))
    network = learn_hazard(
        earlier[sample[before]],
        remembered.context[before],
        remembered.evidence[before],
        edges,
        settings.nodes,
        SEED,
    )
    masses = forecast_masses(network, remembered.context[after], remembered.evidence[after])
    past = past_of(waits)
    trivial = no_learn_forecasts(earlier, past[np.arange(len(earlier))], past[sample[after]], edges)
    return network, wait_scores(
        judged[np.searchsorted(rows, sample[after])], edges, (HAZARD, masses), trivial
    )


def pair_waits(stream: Stream) -> Waits:
    """Return the wait from each communication a→b to the next a→b."""
    events = stream.k == COMMUNICATION
    pair = stream.u[events] * stream.nodes + stream.v[events]
    return waits_between(pair, np.floor(stream.seconds[events]), float(stream.seconds[-1]))


def pairs_of_period(events: Events, period: Period, settings: WhenSettings) -> tuple[PairHazard, Scored]:
    """Return the pair hazard learned before the period and the scores of the period's waits.

    The calibration of the returned hazard includes outcomes up to the period's end.
    """
    stream = events.stream
    waits = pair_waits(stream)
    earlier, judged, rows = split_waits(waits, period, stream)
    sample = sampled_waits(len(rows))
    judged, rows = judged[sample], rows[sample]
    edges = np.union1d(bin_edges(earlier, settings.nodes.bins), EDGES * DAY)
    hazard = learn_pairs(events, period.begin, settings.pairs, SEED)
    questions = after_events(stream, 0, period.end)[rows]
    targets = stream.v[questions.position - 1]
    rates = hazard.rates(ask_pairs(events, questions, targets))
    came = ~judged.open & (judged.seconds < DAY)
    believed = hazard.reliability.follow(judged.began, within_day(rates), came, period.moments(stream)[1])
    masses = moved_to(pair_masses(rates, edges), edges, believed)
    past = past_of(waits)
    trivial = no_learn_forecasts(earlier, past[np.arange(len(earlier))], past[rows], edges)
    return hazard, wait_scores(judged, edges, (HAZARD, masses), trivial)

"""The daily loop: score yesterday's forecast, learn, forecast; replay days whose data changed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import polars as pl
from msgspec import convert

from model.following.lane import MOST_RANKED, Lane, prune
from model.following.rem import family_of
from model.following.switch import is_not_worse
from pipeline.following.archive_days import require_days
from pipeline.following.choice import Choice, days_of_choices, make_choice, stored_choice
from pipeline.following.digest import digest_of
from pipeline.following.events import FollowedDays
from pipeline.following.files import FollowingFiles
from pipeline.following.forecasts import forecast_rows
from pipeline.following.record import (
    DayRecord,
    asked_start,
    followed_days,
    forget_followed_days,
    hold_following,
    note_asked_start,
    publish_rows,
    read_record,
    write_record,
)
from pipeline.following.rule import (
    FOLLOWING,
    JUDGED_DAYS,
    LATE_DAYS,
    NOTHING_HAPPENED,
    QUIET_DAYS,
    FollowRule,
)
from pipeline.following.scores import ONLINE, baseline_rows, happened, model_rows, scored_communications
from pipeline.following.window import DAY, Window, end_of, window_until
from pipeline.lake import Lake, sweep
from pipeline.schemas import FORECAST_SCORES, FORECASTS
from pipeline.sources.gharchive.database import day_files

Log = Callable[[str], None]


def follow_until(
    lake: Lake, rule: FollowRule, last: date, first: date | None = None, log: Log | None = None
) -> list[DayRecord]:
    """Follow every day up to `last`, whose events are in the lake; return the processed days, in order.

    If nothing is followed yet, following starts as of the day before `first` (or `last` itself): people are
    chosen from the window that ends with it, the models are trained on it, and the first forecast is made as
    of its end. Complete days with unchanged data are skipped. If one of the last 14 days changed, it and all
    later days are recomputed from the snapshot before it.
    """
    with hold_following(lake, log):
        sweep(lake.following)
        start = start_day(lake, rule, last, first, log)
        return Chain(lake, rule, start, log).until(last)


def start_day(lake: Lake, rule: FollowRule, last: date, first: date | None, log: Log | None) -> date:
    """Return the day as of whose end the first forecast is made; a day earlier than before restarts all.

    A requested start on which there are people to follow is recorded: if the first days fail, the next run
    resumes from it.
    """
    days = followed_days(lake)
    if first is None and not days and (asked := asked_start(lake)) is not None:
        return asked
    wanted = last if first is None else first - DAY
    if days and (first is None or wanted >= days[0]):
        return days[0]
    if first is not None:
        require_days(lake, wanted, last)
        make_choice(lake, rule, wanted, wanted)
        note_asked_start(lake, wanted)
    if days:
        forget_followed_days(lake)
        if log is not None:
            log(f"following begins again, as of {wanted} instead of {days[0]}")
    return wanted


@dataclass
class Chain:
    """The days since following began on `start`, each computed from the one before."""

    lake: Lake
    rule: FollowRule
    start: date
    log: Log | None = None
    choices: dict[date, Choice] = field(default_factory=dict)
    opened: dict[date, list[Lane]] = field(default_factory=dict)
    oldest: date = date.min  # the first day that late data may have changed

    def until(self, last: date) -> list[DayRecord]:
        """Process the incomplete or outdated days up to `last`, in order, and return their records."""
        whole = followed_days(self.lake)
        reached = min(last, whole[-1]) if whole else self.start
        self.oldest = max(self.start, reached - (LATE_DAYS - 1) * DAY)
        require_days(self.lake, self.oldest, last)
        before = read_record(self.lake, self.oldest - DAY)
        new_records = []
        for day in Window(self.oldest, last):
            record = self.current(day, before)
            if record is None:
                record = self.make(day, before)
                new_records.append(record)
            self.choose_anew(day, is_last=day == last)
            before = record
        assert before is not None
        serving, challenger = self.lanes_of_next(before)
        for lane in (*self.lanes(serving), *(self.lanes(challenger) if challenger else ())):
            if not lane.holds(last):
                lane.at(last)
        prune(self.lake, last - LATE_DAYS * DAY)
        return new_records

    def choice(self, chosen_on: date) -> Choice:
        """Return the people of a choice; one that late data cannot change any more is used as stored."""
        if chosen_on not in self.choices:
            stored = stored_choice(self.lake, chosen_on) if chosen_on < self.oldest else None
            self.choices[chosen_on] = stored or make_choice(self.lake, self.rule, chosen_on, self.start)
        return self.choices[chosen_on]

    def lanes(self, chosen_on: date) -> list[Lane]:
        """Return the models of these people; the first one decides on promotion."""
        if chosen_on not in self.opened:
            days = FollowedDays(self.lake, self.choice(chosen_on))
            self.opened[chosen_on] = [
                Lane(days, variant, family_of(variant), self.log) for variant in self.rule.variants
            ]
        return self.opened[chosen_on]

    def lanes_of_next(self, before: DayRecord) -> tuple[date, date | None]:
        """Return the serving choice and the challenger, if any, for the day after `before`."""
        days = days_of_choices(self.lake, self.start)
        challenger = before.challenger
        if before.day in days and before.day > self.start:
            is_other = self.choice(before.day).digest != self.choice(before.serving).digest
            challenger = before.day if is_other else None
        return before.serving, challenger

    def digest(self, day: date, before: DayRecord | None) -> str:
        """Return the digest of everything that a day depends on."""
        if before is None:
            return digest_of([lane.digest(day) for lane in self.lanes(self.start)])
        serving, challenger = self.lanes_of_next(before)
        lanes = [*self.lanes(serving), *(self.lanes(challenger) if challenger else ())]
        return digest_of([before.digest, serving.isoformat(), *(lane.digest(day) for lane in lanes)])

    def current(self, day: date, before: DayRecord | None) -> DayRecord | None:
        """Return the record of a day if it is complete and up to date; else None."""
        record, files = read_record(self.lake, day), FollowingFiles.of(self.lake)
        if record is None or not files.forecasts(day).exists():
            return None
        return record if record.digest == self.digest(day, before) else None

    def make(self, day: date, before: DayRecord | None) -> DayRecord:
        """Process one day: score, learn, promote the challenger if due, forecast; write the record last."""
        started = time.perf_counter()
        digest, files = self.digest(day, before), FollowingFiles.of(self.lake)
        serving, challenger = (self.start, None) if before is None else self.lanes_of_next(before)
        if before is not None:
            publish_rows(self.scores(day, before), FORECAST_SCORES, files.scores(day))
        for lane in (*self.lanes(serving), *(self.lanes(challenger) if challenger else ())):
            lane.at(day)
        if challenger and is_not_worse(self.lanes(challenger)[0], self.lanes(serving)[0], day):
            serving, challenger = challenger, None
        is_quiet = self.is_quiet(day, serving)
        forecasts = pl.DataFrame(schema=FORECASTS.types) if is_quiet else self.forecasts(day, serving)
        publish_rows(forecasts, FORECASTS, files.forecasts(day))
        events, _ = self.lanes(serving)[0].days.of(day)
        record = DayRecord(
            day, digest, serving, challenger, events.height, round(time.perf_counter() - started, 3)
        )
        write_record(self.lake, record)
        if self.log is not None:
            quiet = f"; no forecast: {NOTHING_HAPPENED}" if is_quiet else ""
            self.log(f"{day}: {events.height:,} events followed, {record.seconds:.1f} s{quiet}")
        return record

    def is_quiet(self, day: date, serving: date) -> bool:
        """Return whether there is no forecast because these people had no events for `QUIET_DAYS` days."""
        events, _ = self.lanes(serving)[0].days.between(day - (QUIET_DAYS - 1) * DAY, day)
        return events.is_empty()

    def scores(self, day: date, before: DayRecord) -> pl.DataFrame:
        """Score yesterday's forecasts beside the baselines; if nothing was forecast, only online."""
        lanes, choice = self.lanes(before.serving), self.choice(before.serving)
        events, _ = lanes[0].days.of(day)
        past, digests = lanes[0].days.between(choice.window.first, day - DAY)
        nodes = len(choice.names)
        positions, came = scored_communications(events, MOST_RANKED, nodes), happened(events, nodes)
        u, v = events[positions.tolist()].select("u", "v").to_numpy().T
        rows = []
        for lane in lanes:
            model = lane.at(day - DAY)
            # Score the forecast first: `lane.ranks(day)` makes the model learn from the day.
            forecast_ranks, scores_of_pairs = model.ranks(u, v, came), model.pair_scores(came)
            ranks = lane.ranks(day)
            forecast_ranks = forecast_ranks[np.isin(positions, ranks["position"])]
            rows += model_rows(lane.variant, past, events, ranks, forecast_ranks, scores_of_pairs)
        rows += baseline_rows(past, events, positions, nodes, len(digests))
        if self.is_quiet(before.day, before.serving):
            rows = [row for row in rows if row["how"] == ONLINE]
        return pl.DataFrame(rows, infer_schema_length=None).with_columns(
            dataset=pl.lit(FOLLOWING), as_of=pl.lit(end_of(day - DAY)), scored_until=pl.lit(end_of(day))
        )

    def forecasts(self, day: date, serving: date) -> pl.DataFrame:
        """Return the forecasts as of the end of a day."""
        parts = [
            forecast_rows(lane.variant, lane.choice.names, lane.at(day).hazards(), end_of(day))
            for lane in self.lanes(serving)
        ]
        return pl.concat(parts).with_columns(dataset=pl.lit(FOLLOWING))

    def has_events_to_learn(self, day: date) -> bool:
        """Return whether people chosen on a day would have events to train on; if not, the people stay."""
        first = window_until(day, self.rule.days).first
        files, _ = day_files(self.lake.github_events, first, day - JUDGED_DAYS * DAY)
        return bool(files)

    def choose_anew(self, day: date, *, is_last: bool) -> None:
        """Choose new people on a day when they are due, or on the last day if the rule has changed."""
        days = days_of_choices(self.lake, self.start)
        if day in days or day == self.start:
            self.choice(day)
            return
        latest = stored_choice(self.lake, max(one for one in days if one < day))
        assert latest is not None
        is_due = (day - latest.chosen_on).days >= self.rule.reselect and self.has_events_to_learn(day)
        is_other = convert(latest.facts["rule"], FollowRule).people != self.rule.people
        if is_due or (is_last and is_other):
            self.choice(day)

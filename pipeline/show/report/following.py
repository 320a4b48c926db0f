"""The report's first page for a followed archive: forecasts, their track record, and recent changes."""

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import altair as alt
import duckdb
import polars as pl

from pipeline.following.files import FollowingFiles
from pipeline.following.record import followed_days, read_record
from pipeline.following.rule import LATE_DAYS, NOTHING_HAPPENED
from pipeline.following.window import DAY, end_of
from pipeline.lake import Lake, read_parquet
from pipeline.schemas import FOLLOWING_BASELINES
from pipeline.show.figures.style import GREEN, ORANGE, PALETTE, QUIET, Figure, drawn, marks
from pipeline.show.tables import rows_of

Row = dict[str, Any]
SHOWN = 12  # interactions, and changed ties
SMALLEST = 0.005  # less would be printed as 0 %
PARTNERS = 10  # per person
JUDGED_DAYS = 28  # days covered by a person's record
BASELINE_COLOURS = dict(zip(FOLLOWING_BASELINES, (ORANGE, GREEN, QUIET), strict=True))


@dataclass(frozen=True)
class Following:
    """Content of the first page; `people` is the data of the person page."""

    as_of: datetime
    no_forecast: str  # why a later day has no forecast
    likely: list[Row]
    track: str  # figure as SVG in base64
    track_in_words: str
    changed: list[Row]
    distance: str  # between the two forecasts that `changed` compares
    missing: list[str]
    people: Row


def following_page(lake: Lake, warehouse: duckdb.DuckDBPyConnection) -> Following | None:
    """Return the first page, or None if no archive is followed."""
    likely = rows_of(
        warehouse,
        "select name, partner_name, probability, expected_at, as_of, variant from today "
        "order by probability desc, name, partner_name limit ?",
        SHOWN,
    )
    if not likely:
        return None
    as_of, variant = likely[0]["as_of"], likely[0]["variant"]
    figure = track_figure(warehouse)
    newest = max([as_of, *map(end_of, followed_days(lake)[-1:])])
    changed = changed_ties(warehouse, as_of, variant)
    days = (as_of - changed[0]["as_of_before"]).days if changed else 0
    return Following(
        as_of=as_of,
        no_forecast=f"There is no forecast as of {newest:%d %B %Y, %H:%M} UTC: {NOTHING_HAPPENED}."
        if newest > as_of
        else "",
        likely=[row for row in likely if row["probability"] >= SMALLEST],
        track=base64.b64encode(drawn(figure).encode()).decode() if figure else "",
        track_in_words=figure.description if figure else "The first forecast is not scored yet.",
        changed=changed,
        distance=f"{days} day{'s' if days > 1 else ''}",
        missing=missing_hours(warehouse, as_of),
        people=people(lake, warehouse, as_of, variant),
    )


def track_figure(warehouse: duckdb.DuckDBPyConnection) -> Figure | None:
    """Draw online MAR by day for each model and the baselines; None before the first score."""
    rows = rows_of(warehouse, "from track_record where how = 'online' and mar is not null order by as_of")
    if not rows:
        return None
    points = [
        {"day": row["as_of"].isoformat(), "predictor": predictor, "mar": mar}
        for row in rows
        for predictor, mar in (
            (row["variant"], row["mar"]),
            *((baseline, row[f"{baseline}_mar"]) for baseline in FOLLOWING_BASELINES),
        )
    ]
    models = list(dict.fromkeys(row["variant"] for row in rows))
    names = [*models, *FOLLOWING_BASELINES]
    colours = [*PALETTE[: len(models)], *BASELINE_COLOURS.values()]
    chart = marks(
        pl.DataFrame(points).unique(maintain_order=True), alt.MarkDef(type="line", point=True)
    ).encode(
        x=alt.X("day:T", title="scored on the day after"),
        y=alt.Y("mar:Q", title="MAR, lower is better", scale={"zero": False}),
        color=alt.Color("predictor:N", title=None, scale={"domain": names, "range": colours}),
    )
    last = rows[-1]
    won = sum(bool(row["beats_recency"]) for row in rows if row["variant"] == models[0])
    days = sum(row["variant"] == models[0] for row in rows)
    words = (
        f"Mean rank of the true partner, day by day. On the newest day {last['variant']} has "
        f"{last['mar']:.2f} and recency {last['recency_mar']:.2f}; {models[0]} was ahead of recency on "
        f"{won} of {days} days."
    )
    return Figure("track_record", "Track record", words, chart.properties(width=680, height=220))


def changed_ties(warehouse: duckdb.DuckDBPyConnection, as_of: datetime, variant: str) -> list[Row]:
    """Return the ties whose probability changed most since a week ago, or since the first forecast."""
    return rows_of(
        warehouse,
        """
        with week as (select max(as_of) as before from forecasts where variant = $1 and as_of <= (
                          select greatest($2::timestamp - interval 7 days, min(as_of)) from forecasts
                          where variant = $1)),
             now_and_then as (
                 select name, partner_name, any_value(week.before) as as_of_before,
                        coalesce(any_value(probability) filter (as_of = $2), 0) as now,
                        coalesce(any_value(probability) filter (as_of = before), 0) as before
                 from forecasts, week
                 where variant = $1 and as_of in ($2, before) and before < $2
                 group by name, partner_name)
        from now_and_then where now <> before
        order by abs(now - before) desc, name, partner_name limit $3
        """,
        variant,
        as_of,
        SHOWN,
    )


def missing_hours(warehouse: duckdb.DuckDBPyConnection, as_of: datetime) -> list[str]:
    """Describe the missing or incomplete hours of the last `LATE_DAYS`, a line per day and status."""
    rows = rows_of(
        warehouse,
        "select day, status, list(hour order by hour) as hours from gharchive_files "
        "where status <> 'ok' and day >= ?::date and day < ?::date group by all order by day, status",
        as_of - LATE_DAYS * DAY,
        as_of,
    )
    return [f"{row['day']}: hours {', '.join(map(str, row['hours']))} {row['status']}" for row in rows]


def people(lake: Lake, warehouse: duckdb.DuckDBPyConnection, as_of: datetime, variant: str) -> Row:
    """Return each person's likeliest partners and forecast record, by name."""
    rows = rows_of(
        warehouse,
        "select name, list({'partner': partner_name, 'probability': round(probability, 4), "
        "'expected': strftime(expected_at, '%d %b %H:%M')} order by rank) as partners from today "
        "where rank < ? and as_of = ? and variant = ? group by name order by lower(name), name",
        PARTNERS,
        as_of,
        variant,
    )
    records = personal_records(lake, variant)
    return {row["name"]: {"partners": row["partners"], "record": records.get(row["name"])} for row in rows}


def personal_records(lake: Lake, variant: str) -> dict[str, list[int]]:
    """Return per person the events of the last weeks, and the hits of the forecast's top 1 and top 10."""
    files = FollowingFiles.of(lake)
    parts = []
    for day in followed_days(lake)[-JUDGED_DAYS:]:
        before = read_record(lake, day - DAY)
        if before is None or not files.events(before.serving, day).exists():
            continue
        forecast = read_parquet(files.forecasts(day - DAY)).filter(pl.col("variant") == variant)
        names = forecast.select("node", "name").unique()
        events = read_parquet(files.events(before.serving, day)).join(names, left_on="u", right_on="node")
        ranks = forecast.select("node", "partner", "rank")
        parts.append(
            events.join(ranks, left_on=["u", "v"], right_on=["node", "partner"], how="left").select(
                "name", "rank"
            )
        )
    if not parts:
        return {}
    sums = (
        pl.concat(parts)
        .group_by("name")
        .agg(
            pl.len(),
            (pl.col("rank") == 0).sum().alias("first"),
            (pl.col("rank") < PARTNERS).sum().alias("ten"),
        )
    )
    return {name: counts for name, *counts in sums.iter_rows()}

"""A followed archive as its files are: days that are whole, with forecasts, scores and events made up."""

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import polars as pl

from pipeline.following.events import FOLLOWED_EVENTS
from pipeline.following.files import FollowingFiles
from pipeline.following.record import DayRecord, publish_rows, write_record
from pipeline.following.rule import FOLLOWING
from pipeline.following.window import DAY, end_of
from pipeline.lake import Lake, write_parquet
from pipeline.schemas import FOLLOWED, FOLLOWING_BASELINES, FORECAST_SCORES, FORECASTS

START = date(2024, 5, 1)


def store_followed(lake: Lake, names: Sequence[str], days: int = 10) -> list[date]:
    """Follow `names` for some days; each acts on the next one every day, and that is what is forecast."""
    files, random = FollowingFiles.of(lake), np.random.default_rng(0)
    everyone = pl.DataFrame({"node": range(len(names)), "name": list(names)})
    people = everyone.with_columns(why=pl.lit("asked for"))
    write_parquet(
        people.select(pl.col(name).cast(FOLLOWED.types[name]) for name in people.columns), files.people(START)
    )
    followed = [START + number * DAY for number in range(days)]
    for day in followed:
        publish_rows(forecast(names, day, random), FORECASTS, files.forecasts(day))
        if day > START:
            write_parquet(events(names, day), files.events(START, day))
            publish_rows(scores(day, random), FORECAST_SCORES, files.scores(day))
        write_record(lake, DayRecord(day, str(day), START, None, events=len(names), seconds=0.5))
    return followed


def forecast(names: Sequence[str], day: date, random: np.random.Generator) -> pl.DataFrame:
    """Everyone's partners, the next one first."""
    rows = []
    for node, name in enumerate(names):
        for rank in range(len(names) - 1):
            partner = (node + 1 + rank) % len(names)
            probability = float(0.6 * 0.5**rank + 0.1 * random.random())
            rows.append((node, name, partner, names[partner], rank, probability))
    columns = ["node", "name", "partner", "partner_name", "rank", "probability"]
    return pl.DataFrame(rows, columns, orient="row").with_columns(
        dataset=pl.lit(FOLLOWING),
        as_of=pl.lit(end_of(day)),
        variant=pl.lit("rem"),
        expected_at=pl.lit(end_of(day) + timedelta(hours=5)),
    )


def events(names: Sequence[str], day: date) -> pl.DataFrame:
    """Each acts on the next one."""
    node = np.arange(len(names))
    rows = pl.DataFrame({"u": node, "v": (node + 1) % len(names)}).with_columns(
        type=pl.lit("Push"),
        kind=pl.lit("communication"),
        created_at=pl.lit(end_of(day) - timedelta(hours=1)),
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in FOLLOWED_EVENTS.items())


def scores(day: date, random: np.random.Generator) -> pl.DataFrame:
    """The model ahead of what learns nothing, both ways of looking at it."""
    levels = {"rem": 1.0, **dict.fromkeys(FOLLOWING_BASELINES, 2.0)}
    rows = [
        {"predictor": predictor, "how": how, "mar": level + random.random() / 2}
        for predictor, level in levels.items()
        for how in ("online", "as_forecast")
    ]
    constant = {name: pl.lit(None, dtype) for name, dtype in FORECAST_SCORES.types.items()}
    return (
        pl.DataFrame(rows)
        .with_columns(
            **{name: column for name, column in constant.items() if name not in ("predictor", "how", "mar")}
        )
        .with_columns(
            dataset=pl.lit(FOLLOWING),
            as_of=pl.lit(end_of(day - DAY)),
            scored_until=pl.lit(end_of(day)),
            learns=pl.col("predictor") == "rem",
            events=pl.lit(20),
        )
    )

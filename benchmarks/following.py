"""What following costs: a day of today's archive from files to forecast, and an idle one; a year of the past.

`python -m benchmarks.following` makes up an archive in today's format and follows 1,000 accounts in it: a few
small days to choose and train on, then one day of `--events` events, which is measured.
`python -m benchmarks.following --crowd 3000 20000 100000` follows a made-up crowd of so many people for a day
(`benchmarks.followed_crowd`), each in a process of its own.
`python -m benchmarks.following --year FOLDER` replays the paper's GitHub network (its `events.parquet` and
`nodes.parquet`) through 2013 as if it had been followed; its track record goes into the page of results.
"""

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl

from benchmarks.followed_crowd import followed_day
from benchmarks.measure import alone
from model.following.day import follow_until
from pipeline.following.bring import bring_window
from pipeline.following.record import published_scores
from pipeline.following.rule import FollowRule
from pipeline.following.window import DAY, Window, window_until
from pipeline.lake import Lake, write_parquet
from pipeline.schemas import FOLLOWING_BASELINES, GHARCHIVE_FILES, GITHUB_EVENTS
from pipeline.show.results_page.followed import write_followed_part
from pipeline.sources.gharchive.day import account_path
from pipeline.sources.gharchive.fetch import FetchSettings
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.normalize import EventRules
from tests.todays_archive import World, write_days

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
FIRST, LAST = date(2013, 4, 1), date(2013, 12, 31)
SMALL_DAYS, SMALL_DAY = 9, 30_000
FOLLOWED_A_DAY = 10_000


def measured(label: str, work: Callable[[], object]) -> None:
    """Print how long `work` took, by the clock and of the processor, and the most memory so far."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{label:<42} {time.perf_counter() - clock:8.1f} s  {time.process_time() - processor:8.1f} s of "
        f"processor  {memory:7.0f} MB at most",
        flush=True,
    )


def size(folder: Path) -> str:
    """The bytes of all files below a folder, in megabytes."""
    return f"{sum(path.stat().st_size for path in folder.rglob('*') if path.is_file()) / 1e6:,.1f} MB"


def one_day(events: int, nodes: int, scratch: Path) -> None:
    """Measure a day of so many events, and the one after which nothing changed."""
    day = date(2026, 6, 15)
    window = window_until(day - DAY, SMALL_DAYS)
    lake, archive = Lake(scratch / "home"), scratch / "archive"
    fetching, rules = FetchSettings(base=str(archive)), EventRules()
    rule = FollowRule(days=len(window), nodes=nodes)

    def world(total: int) -> World:
        return World(people=nodes, crowd=500_000, events=total, share=FOLLOWED_A_DAY / total)

    write_days(archive, world(SMALL_DAY), window)
    measured(
        f"{SMALL_DAYS} days of {SMALL_DAY:,} events brought",
        lambda: bring_window(lake, window, fetching, rules),
    )
    measured("chosen, trained, first forecast", lambda: follow_until(lake, rule, window.last))
    shutil.rmtree(archive)
    write_days(archive, world(events), [day])
    print(f"{'hour files of the day':<42} {size(archive)}")
    before = {name: size(lake.home / name) for name in ("events", "raw", "following")}
    measured(
        f"{events:,} events: from files to the lake",
        lambda: bring_window(lake, Window(day, day), fetching, rules),
    )
    measured("scored, learned on, forecast", lambda: follow_until(lake, rule, day))
    measured("idle: asked again", lambda: bring_window(lake, Window(day, day), fetching, rules))
    measured("idle: nothing to follow", lambda: follow_until(lake, rule, day))
    for name, earlier in before.items():
        print(f"{name + '/':<42} {earlier} before the day, {size(lake.home / name)} after it")
    scores = pl.concat(published_scores(lake))
    print(scores.select("predictor", "how", "events", "mar", "hits_at_10"))


def store_year(source: Path, lake: Lake) -> FollowRule:
    """The paper's events as days of the archive, in Pacific time as its files were named."""
    events = pl.read_parquet(source / "events.parquet").with_columns(
        day=pl.col("created_at").dt.convert_time_zone("America/Los_Angeles").dt.date()
    )
    for day in Window(date(2013, 1, 1), LAST):
        rows = events.filter(pl.col("day") == day).sort("created_at", maintain_order=True)
        rows = rows.with_row_index("number").with_columns(
            event_id=pl.col("number").cast(pl.String),
            kind=pl.when(pl.col("type") == "FollowEvent")
            .then(pl.lit("association"))
            .otherwise(pl.lit("communication")),
            actor_id=pl.lit(None),
            counterpart="target",
            repo=pl.lit(None),
            created_at=pl.col("created_at").dt.replace_time_zone(None),
            file=pl.lit(file_name(day, 0)),
        )
        write_parquet(GITHUB_EVENTS.cast(rows), lake.github_day(day) / "00.parquet")
        account = dict.fromkeys(GHARCHIVE_FILES.names) | {"file": file_name(day, 0), "day": day, "hour": 0}
        account |= {"status": "ok", "events": rows.height, "kept": rows.height}
        write_parquet(pl.DataFrame([account], schema=GHARCHIVE_FILES.types), account_path(lake, day))
    people = pl.read_parquet(source / "nodes.parquet")["login"].to_list()
    return FollowRule(accounts=tuple(people))


def the_year(source: Path, scratch: Path, last: date) -> str:
    """Replay the year, and tell of it as Markdown."""
    lake = Lake(scratch / "year")
    rule = store_year(source, lake)
    started = time.process_time()
    records = follow_until(lake, rule, last, FIRST, log=lambda line: print(line, flush=True))
    processor = time.process_time() - started
    scores = pl.concat(published_scores(lake))
    days = sorted(record.seconds for record in records[1:])
    lines = [
        "## Followed through 2013",
        "",
        f"The paper's 284 accounts, followed from {FIRST} to {last} ({len(days)} days): trained once on the "
        f"ninety days before, then learning on. A day took {processor / len(days):.1f} s of processor time, "
        f"the training included ({days[len(days) // 2]:.1f} s by the clock in the median, beside other "
        "work).",
        "",
        *score_table(scores, "online"),
        "",
        *score_table(scores, "as_forecast"),
        "",
        *calibration(scores),
    ]
    return "\n".join(lines) + "\n"


def score_table(scores: pl.DataFrame, how: str) -> list[str]:
    """Quarter by quarter: the mean over events of each predictor's metrics."""
    rows = scores.filter(pl.col("how") == how, pl.col("events") > 0).with_columns(
        week=pl.col("as_of").dt.truncate("1w"), quarter=pl.col("scored_until").dt.quarter()
    )
    names = [*rows.filter("learns")["predictor"].unique().to_list(), *FOLLOWING_BASELINES]
    weekly = weighted(rows, "week", "predictor").pivot(on="predictor", index="week", values="mar")
    won = (weekly[names[0]] < weekly["recency"]).sum()
    lines = [
        f"| {how.replace('_', ' ')}: MAR / HITS@10 / MRR | April to June | July to September "
        "| October to December | all | never-seen MAR |",
        "|---|---|---|---|---|---|",
    ]
    by_quarter, whole = weighted(rows, "quarter", "predictor"), weighted(rows, "predictor")
    strangers = (
        rows.filter(pl.col("never_seen_events") > 0)
        .group_by("predictor")
        .agg(
            (pl.col("never_seen_mar") * pl.col("never_seen_events")).sum() / pl.col("never_seen_events").sum()
        )
    )
    for name in names:
        cells = [
            by_quarter.filter(pl.col("quarter") == quarter, pl.col("predictor") == name)
            for quarter in (2, 3, 4)
        ]
        cells.append(whole.filter(pl.col("predictor") == name))
        shown = [
            " / ".join(
                f"{cell[metric][0]:.{digits}f}"
                for metric, digits in (("mar", 2), ("hits_at_10", 3), ("mrr", 3))
            )
            if cell.height
            else ""
            for cell in cells
        ]
        never = strangers.filter(pl.col("predictor") == name)["never_seen_mar"][0]
        lines.append(f"| {name} | {' | '.join(shown)} | {never:.1f} |")
    lines += ["", f"Week by week, {names[0]}'s MAR is below recency's in {won} of {weekly.height} weeks."]
    return lines


def weighted(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Means over events of the metrics of days."""
    return (
        rows.group_by(by)
        .agg(
            (pl.col(metric) * pl.col("events")).sum() / pl.col("events").sum()
            for metric in ("mar", "hits_at_10", "mrr")
        )
        .sort(by)
    )


def calibration(scores: pl.DataFrame) -> list[str]:
    """Log and Brier scores of the probabilities, in thousandths, beside the share of past days."""
    rows = (
        scores.filter(pl.col("brier").is_not_null())
        .group_by("predictor")
        .agg(pl.col("log_score", "brier").mean())
    )
    lines = [
        "| probabilities, mean over days and pairs | log score × 1,000 | Brier × 1,000 |",
        "|---|---|---|",
    ]
    for name, log_score, brier in rows.sort("brier").iter_rows():
        lines.append(f"| {name} | {1000 * log_score:.3f} | {1000 * brier:.4f} |")
    return lines


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000, help="of the measured day")
    parser.add_argument("--nodes", type=int, default=1_000, help="how many accounts are followed")
    parser.add_argument("--crowd", type=int, nargs="+", default=[], help="people of made-up crowds instead")
    parser.add_argument("--variant", default="rem", help="that follows the crowds")
    parser.add_argument("--year", type=Path, help="the folder of the paper's GitHub network")
    parser.add_argument("--until", type=date.fromisoformat, default=LAST, help="the last day of the year")
    parser.add_argument("--scratch", type=Path, help="where to work; a temporary folder without it")
    arguments = parser.parse_args()
    for people in arguments.crowd:
        day = alone(followed_day, arguments.variant, people)
        print(
            f"{people:>9,} people, {arguments.variant}: {day['seconds']:,.1f} s of processor, "
            f"{day['peak bytes'] / 1e6:,.0f} MB at most, {day['kept bytes'] / 1e6:,.1f} MB kept",
            flush=True,
        )
    if arguments.crowd:
        return
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        if arguments.year is None:
            one_day(arguments.events, arguments.nodes, Path(scratch))
            return
        figures = the_year(arguments.year, Path(scratch), arguments.until)
    print(figures)
    write_followed_part(figures, PAGE)


if __name__ == "__main__":
    main()

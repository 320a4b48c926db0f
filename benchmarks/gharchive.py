"""Reading hour files on one core: gunzip to nowhere, ours to Parquet, DuckDB's `read_json_auto` to Parquet.

`python -m benchmarks.gharchive` measures the hours in `$LDG_REAL_DATA/gharchive`, or hours made up when that
is not set, and then the peak memory of one hour of a gigabyte and of many hours in one process.
"""

import argparse
import gzip
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import duckdb

from pipeline.lake import Lake
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.files import HourFile, raw_path
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import make_reading

ROUNDS = 25  # the best of many: other work on the machine disturbs the small hours most
HOUR_BYTES = 1 << 30
MONTH = 30
WORDS = random.Random(0).randbytes(1 << 20).hex()


def early(number: int, text: str) -> dict[str, object]:
    """An event as of 2013."""
    login = f"user{number % 5000}"
    owner = f"user{number * 7 % 5000}"
    return {
        "created_at": f"2013-02-15T00:{number // 60 % 60:02d}:{number % 60:02d}-08:00",
        "payload": {
            "shas": [[text[:40], "", text, "", True]],
            "size": 1,
            "ref": "refs/heads/master",
            "n": number,
        },
        "public": True,
        "type": "PushEvent",
        "url": f"https://github.com/{owner}/tool/compare/{text[:21]}",
        "actor": login,
        "actor_attributes": {"name": "", "login": login, "type": "User", "gravatar_id": text[:32]},
        "repository": {
            "id": number,
            "name": "tool",
            "owner": owner,
            "url": f"https://github.com/{owner}/tool",
        }
        | {f"has_{word}": True for word in ("issues", "downloads", "wiki")}
        | {"watchers": 2, "forks": 0, "size": 36956, "created_at": "2012-02-23T09:24:29-08:00"},
    }


def modern(number: int, text: str) -> dict[str, object]:
    """An event as of 2015."""
    login = f"user{number % 50_000}"
    owner = f"user{number * 7 % 50_000}"
    commit = {"sha": text[:40], "author": {"email": "", "name": ""}, "message": text, "distinct": True}
    return {
        "id": str(2489368070 + number),
        "type": ["PushEvent", "WatchEvent", "CreateEvent", "IssuesEvent"][number % 4],
        "actor": {
            "id": number % 50_000,
            "login": login,
            "gravatar_id": "",
            "url": f"https://api.github.com/{login}",
        },
        "repo": {"id": number, "name": f"{owner}/tool", "url": f"https://api.github.com/repos/{owner}/tool"},
        "payload": {"push_id": number, "size": 1, "ref": "refs/heads/master", "commits": [commit]},
        "public": True,
        "created_at": f"2015-01-01T00:{number // 60 % 60:02d}:{number % 60:02d}Z",
    }


def make_hour(path: Path, form: Callable[[int, str], dict[str, object]], size: int, text_bytes: int) -> None:
    """Write an hour of invented events, `size` bytes of text in all."""
    chance = random.Random(1)
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wb", compresslevel=1) as file:
        number = written = 0
        while written < size:
            start = chance.randrange(len(WORDS) - text_bytes)
            line = (
                json.dumps(form(number, WORDS[start : start + text_bytes]), separators=(",", ":")).encode()
                + b"\n"
            )
            file.write(line)
            written += len(line)
            number += 1


def cpu_seconds(work: Callable[[], object], who: int) -> float:
    """Processor time of one round of `work`: with one core and one thread, a clock without the noise."""
    before = resource.getrusage(who)
    work()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(path: Path, scratch: Path) -> None:
    """Print events per second of the three readers on one file: the best of rounds taken in turn."""
    day = date.fromisoformat(path.name[:10])
    hour = int(path.name.removesuffix(".json.gz").rsplit("-", 1)[1])
    lake = Lake(scratch)
    target = raw_path(lake, day, hour)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(path.read_bytes())
    file = HourFile(day, hour, "ok", bytes=target.stat().st_size, md5="measured")
    connection = duckdb.connect(config={"threads": 1})
    query = (
        f"COPY (SELECT * FROM read_json_auto('{target}', ignore_errors = true)) TO '{scratch}/duck.parquet'"
    )
    readers: dict[str, Callable[[], object]] = {
        "gunzip": lambda: subprocess.run(["gzip", "-dc", target], stdout=subprocess.DEVNULL, check=True),
        "ours": lambda: shutil.rmtree(make_reading(lake, file, EventRules()).folder),
        "duckdb": lambda: connection.execute(query),
    }
    seconds = dict.fromkeys(readers, float("inf"))
    for _ in range(ROUNDS):
        for name, work in readers.items():
            who = resource.RUSAGE_CHILDREN if name == "gunzip" else resource.RUSAGE_SELF
            seconds[name] = min(seconds[name], cpu_seconds(work, who))
    events = make_reading(lake, file, EventRules()).counts.events
    print(
        f"{path.name}: {events:,} events; events/s: "
        + ", ".join(f"{name} {events / value:,.0f}" for name, value in seconds.items())
        + f"; ours is {seconds['gunzip'] / seconds['ours']:.2f} of gunzip"
        + f" and {seconds['duckdb'] / seconds['ours']:.1f} times DuckDB auto",
        flush=True,
    )


def peak(home: Path, days: int) -> None:
    """Read `days` days from 2024-01-01 on and print the peak memory of this process."""
    events = 0
    started = time.perf_counter()
    for number in range(days):
        events += read_day(date(2024, 1, 1) + timedelta(days=number), Lake(home), EventRules()).events
    seconds = time.perf_counter() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{events:,} events in {seconds:.1f} s; peak memory {megabytes:,.0f} MB", flush=True)


def one_core(*arguments: str) -> None:
    """Run this module again with one core and one thread for everything."""
    command = [sys.executable, "-m", "benchmarks.gharchive", *arguments]
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    before = (lambda: os.sched_setaffinity(0, {core})) if core is not None else None
    subprocess.run(command, check=True, env=os.environ | {"POLARS_MAX_THREADS": "1"}, preexec_fn=before)


def main() -> None:
    """Measure everything, each part in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--skip-memory", action="store_true", help="leave out the hour of a gigabyte and the month"
    )
    parser.add_argument("--measure", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    if options.peak:
        peak(Path(options.peak[0]), int(options.peak[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if real := os.environ.get("LDG_REAL_DATA"):
            hours = sorted((Path(real) / "gharchive").glob("*-*-*-*.json.gz"))
        else:
            hours = [scratch / "2013-02-15-0.json.gz", scratch / "2015-01-01-0.json.gz"]
            make_hour(hours[0], early, 9 << 20, 300)
            make_hour(hours[1], modern, 15 << 20, 1300)
        for path in hours:
            one_core("--measure", str(path), str(scratch / "lake"))
        if options.skip_memory:
            return
        print("an hour of 1 GB of text: ", end="", flush=True)
        make_hour(raw_path(Lake(scratch / "large"), date(2024, 1, 1), 0), modern, HOUR_BYTES, 3500)
        one_core("--peak", str(scratch / "large"), "1")
        for days in (1, MONTH):
            print(f"{days} hour(s) of 32 MB of text: ", end="", flush=True)
            home = scratch / f"days-{days}"
            for number in range(days):
                day = date(2024, 1, 1) + timedelta(days=number)
                path = raw_path(Lake(home), day, 0)
                if number == 0:
                    make_hour(path, modern, 32 << 20, 1300)
                else:
                    path.parent.mkdir(parents=True)
                    os.link(raw_path(Lake(home), date(2024, 1, 1), 0), path)
            one_core("--peak", str(home), str(days))


if __name__ == "__main__":
    main()

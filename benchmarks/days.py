"""What a day of the archive costs beside its own work: a year of small days, headless and in the UI.

`python -m benchmarks.days` builds hour files of two events each, and takes them through the plain functions,
through the launcher and through a backfill of the services, each in processes of their own. Figures are
seconds of processor time; the launcher's memory is printed for every month.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from pipeline.settings import Settings
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.days import fetch_days
from pipeline.sources.gharchive.source import event_rules, fetch_settings
from tests.pipeline.sources.gharchive.making import lines, modern, store
from tests.services import Services
from tests.whole_system import environment, wait_for

FIRST = date(2015, 1, 1)
WAYS = ("plain", "headless", "ui")


def main() -> None:
    """Measure every way in a process of its own, and print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--here", action="store_true", help="internal: on the home of this process")
    arguments = parser.parse_args()
    if arguments.here:
        measure = {"plain": plain, "headless": headless, "ui": backfill}[arguments.ways[0]]
        print(json.dumps(measure(days_from(FIRST, arguments.days))))
        return
    with tempfile.TemporaryDirectory() as folder:
        build_archive(Path(folder) / "archive", arguments.days)
        figures = {way: measured(way, Path(folder) / way, arguments.days) for way in arguments.ways}
    own = figures.get("plain", {}).get("seconds", 0.0)
    for way in figures:
        extra = figures[way]["seconds"] - own
        figures[way]["overhead_a_day"] = round(extra / arguments.days, 3)
    print(json.dumps({"days": arguments.days, **figures}, indent=2))


def measured(way: str, home: Path, days: int) -> dict[str, Any]:
    """The figures of one way, from a process of its own."""
    home.mkdir()
    settings = days_of(home, days)
    (home / ".env").write_text("".join(f"{name}={text}\n" for name, text in settings.items()))
    command = [sys.executable, "-m", "benchmarks.days", "--here", "--days", str(days), "--ways", way]
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def days_of(home: Path, days: int) -> dict[str, str]:
    """Settings that make the days of the archive beside the home this home's own."""
    last = FIRST + timedelta(days=days - 1)
    return {
        "LDG_GHARCHIVE_URL": str(home.parent / "archive"),
        "LDG_GITHUB_HISTORY": FIRST.isoformat(),
        "LDG_GITHUB_START": FIRST.isoformat(),
        "LDG_GITHUB_SPLIT": last.isoformat(),
        "LDG_GITHUB_END": last.isoformat(),
    }


def days_from(first: date, days: int) -> list[date]:
    """So many days, one after the other."""
    return [first + timedelta(days=number) for number in range(days)]


def build_archive(folder: Path, days: int) -> None:
    """Hour files of two events each."""
    for hour in range(24 * days):
        day = FIRST + timedelta(days=hour // 24)
        name = f"{day}-{hour % 24}"
        events = [
            modern(
                2 * hour + which, actor=f"user{hour % 97}", created_at=f"{day}T{hour % 24:02d}:00:0{which}Z"
            )
            for which in range(2)
        ]
        store(folder / f"{name}.json.gz", lines(events))


def plain(days: list[date]) -> dict[str, Any]:
    """The functions alone."""
    settings = Settings.load()
    started = time.process_time()
    for _ in fetch_days(days, settings.lake, fetch_settings(settings)):
        pass
    for day in days:
        read_day(day, settings.lake, event_rules(settings))
    return {"seconds": round(time.process_time() - started, 2)}


def headless(days: list[date]) -> dict[str, Any]:
    """The launcher's steps, a run for each month."""
    from dagster import AssetKey

    from assets.dagster_home import dagster_folder
    from assets.headless.instance import instance_of
    from assets.headless.plan import table_steps
    from assets.headless.steps import materialize
    from assets.system import build_definitions
    from pipeline.sources.registry import registry

    settings = Settings.load()
    (spec,) = (spec for spec in registry(settings) if spec.name == "github")
    megabytes = []
    with instance_of(settings) as instance:
        job = build_definitions(settings).resolve_implicit_global_asset_job_def()
        started = time.process_time()
        for step in table_steps(spec, settings):
            if step.tags:
                materialize(step, job, instance)
                megabytes.append(resident_megabytes())
        partitions = instance.get_materialized_partitions(AssetKey("github_events"))
    assert partitions == {day.isoformat() for day in days}
    history = sum(file.stat().st_size for file in dagster_folder(settings).rglob("*") if file.is_file())
    return {
        "seconds": round(time.process_time() - started, 2),
        "megabytes_by_month": megabytes,
        "history_megabytes": round(history / 1e6, 1),
    }


def backfill(days: list[date]) -> dict[str, Any]:
    """A backfill as a click starts it: code server, pages, daemon, and every process they start."""
    services = Services(dict(os.environ), Path(os.environ["LDG_HOME"]) / "services")
    for name in ("code", "web", "daemon"):
        services.start(name)
    wait_for(services.has_assets)
    started = time.monotonic()
    backfill_id = services.backfill([day.isoformat() for day in days])
    wait_for(lambda: services.outcome(backfill_id), patience=4 * 3600.0)
    assert services.outcome(backfill_id) == "COMPLETED_SUCCESS"
    wall = time.monotonic() - started
    for name in ("daemon", "web", "code"):
        services.stop(name)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": round(spent.ru_utime + spent.ru_stime, 2), "wall_seconds": round(wall, 1)}


def resident_megabytes() -> int:
    """How much memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


if __name__ == "__main__":
    main()

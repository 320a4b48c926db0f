"""Days of the archive through the launcher: what the benchmark measures on a year is made on a few."""

import json
from pathlib import Path

from tests.whole_system import environment, run_module


def test_every_day_is_made_and_what_a_day_costs_is_told(tmp_path: Path) -> None:
    answer = run_module(
        "benchmarks.days", "--days", "3", "--ways", "plain", "headless", environment=environment(tmp_path)
    )
    figures = json.loads(answer)
    assert figures["days"] == 3
    assert figures["plain"]["seconds"] > 0
    assert len(figures["headless"]["megabytes_by_month"]) == 1

"""The Dagster UI on the sample world, in a real browser."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser

from tests.whole_system import ROOT, environment

# One worker runs the system once for all tests that look at it.
pytestmark = pytest.mark.xdist_group("sample")


@pytest.fixture
def webserver(sample_home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dagster_webserver", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(sample_home), stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            assert process.poll() is None
            try:
                requests.get(f"{url}/server_info", timeout=1).raise_for_status()
                break
            except requests.RequestException:
                time.sleep(0.5)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_every_lane_is_shown_materialized(browser: Browser, webserver: str, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(f"{webserver}/assets", timeout=60_000)
    for lane in ("gharchive", "github", "social_evolution", "results"):
        page.get_by_text(lane).filter(visible=True).first.wait_for(timeout=60_000)
    page.goto(f"{webserver}/assets/github/event_table", timeout=60_000)
    page.get_by_text("Row count").filter(visible=True).first.wait_for(timeout=60_000)
    page.screenshot(path=tmp_path / "event_table.png")
    assert (tmp_path / "event_table.png").stat().st_size > 10_000

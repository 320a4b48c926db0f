"""The Dagster UI as people use it: a real `ldg dev` on a small home, worked with a real browser.

Screenshots are left in the test's own folder, or in `$LDG_SCREENSHOTS` where that names one.
"""

import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from pipeline.lake import Lake
from pipeline.results.trained import read_facts
from tests.office import write_office
from tests.ports import free_port
from tests.whole_system import OF_A_SERVER, PATIENCE, environment, start_module, wait_for

SECONDS = 40.0  # for the page to show something, on a machine that is busy
LOCATION = "assets.definitions"
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}
SETTINGS = f"/locations/{LOCATION}/resources/settings"
# As a link of the UI does: its scripts, which take seconds to compile and to begin, stay.
FOLLOW_LINK = "path => { history.pushState({}, '', path); dispatchEvent(new PopStateEvent('popstate')); }"
YESTERDAY = datetime.now(UTC).date() - timedelta(days=1)


@dataclass(frozen=True)
class Ui:
    """The UI of a home: where it is served, and where screenshots go."""

    url: str
    home: Path
    shots: Path

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """An answer of the GraphQL interface that the pages use, too."""
        body = {"query": query, "variables": variables}
        return requests.post(f"{self.url}/graphql", json=body, timeout=SECONDS).json()["data"]

    def runs(self, job: str) -> list[str]:
        """The statuses of a job's runs, the newest first."""
        query = "query($f: RunsFilter) { runsOrError(filter: $f) { ... on Runs { results { status } } } }"
        return [run["status"] for run in self.ask(query, f={"pipelineName": job})["runsOrError"]["results"]]

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait for what a run or the daemon does."""
        wait_for(condition, pause=OF_A_SERVER)


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """`ldg dev` on a home with the mails of five people and an archive one of whose hours is torn."""
    home = tmp_path_factory.mktemp("ui")
    write_office(home)
    archive = home / "archive"
    archive.mkdir()
    (archive / f"{YESTERDAY}-3.json.gz").write_bytes(b"<html>no hour file</html>")
    shots = Path(os.environ.get("LDG_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    shots.mkdir(parents=True, exist_ok=True)
    port = free_port()
    settings = {
        "LDG_SEEDS": "1",
        "LDG_EPOCHS": "1",
        "LDG_DATASETS": "office",
        "LDG_VARIANTS": "dyrep_wide",
        "LDG_GHARCHIVE_URL": str(archive),
        "LDG_GITHUB_END": str(YESTERDAY),
        "LDG_TRAININGS": "1",
        "LDG_RETRY_SECONDS": "0",
        "LDG_SCHEDULE": "* * * * *",
        "OMP_NUM_THREADS": "1",
    }
    process = start_module(
        "assets",
        "dev",
        "--port",
        str(port),
        environment=environment(home, **settings),
        output=home / "dev.log",
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(url), process, pause=OF_A_SERVER)
        yield Ui(url, home, shots)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE)


def answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/server_info", timeout=1).ok
    except requests.RequestException:
        return False


@pytest.fixture(scope="module")
def window(tab: Page, ui: Ui) -> Page:
    """The UI, loaded once for all tests; it moves as little as it can, for every move is drawn."""
    tab.set_viewport_size({"width": 1400, "height": 950})
    tab.emulate_media(reduced_motion="reduce")
    tab.set_default_timeout(SECONDS * 1000)
    expect.set_options(timeout=SECONDS * 1000)
    tab.goto(f"{ui.url}{SETTINGS}")
    return tab


@pytest.fixture
def page(window: Page, ui: Ui, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The UI's page; what it shows at the end of the test is kept."""
    yield window
    window.screenshot(path=ui.shots / f"{request.node.name}.png")
    window.evaluate("localStorage.clear()")  # what this test typed


def visit(page: Page, path: str) -> None:
    """Show another page of the UI, without loading the UI again."""
    page.evaluate(FOLLOW_LINK, path)


def rest(page: Page) -> None:
    """Show a page that is still while a run is waited for: others draw and ask all the while."""
    visit(page, SETTINGS)


def materialize(ui: Ui, page: Page, *asset: str) -> None:
    """Materialize an asset without partitions by its button, and wait for the run."""
    before = len(ui.runs("__ASSET_JOB"))
    visit(page, f"/assets/{'/'.join(asset)}")
    page.get_by_role("button", name="Materialize").first.click()
    ui.wait_until(lambda: len(ui.runs("__ASSET_JOB")) > before)
    rest(page)
    ui.wait_until(lambda: ui.runs("__ASSET_JOB")[0] in ENDED)
    assert ui.runs("__ASSET_JOB")[0] == "SUCCESS", (ui.home / "dev.log").read_text()[-4000:]


@pytest.fixture
def office_table(ui: Ui, page: Page) -> None:
    """The office's event table."""
    if not (Lake(ui.home).dataset("office") / "dataset.json").exists():
        materialize(ui, page, "office", "event_table")


def train(ui: Ui, page: Page, config: str) -> None:
    """Launch `train_chosen` with a config typed into the launchpad, and wait for the run."""
    before = len(ui.runs("train_chosen"))
    type_config(ui, page, config)
    page.get_by_role("button", name="Launch Run").click()
    ui.wait_until(lambda: len(ui.runs("train_chosen")) > before)
    rest(page)
    ui.wait_until(lambda: ui.runs("train_chosen")[0] in ENDED)
    assert ui.runs("train_chosen")[0] == "SUCCESS", (ui.home / "dev.log").read_text()[-4000:]


def type_config(ui: Ui, page: Page, config: str) -> None:
    visit(page, f"/locations/{LOCATION}/jobs/train_chosen/playground")
    page.get_by_text("chosen_trainings:").first.wait_for()
    page.locator(".CodeMirror").first.evaluate("(editor, text) => editor.CodeMirror.setValue(text)", config)


def bring(ui: Ui, day: date) -> None:
    """A day of the archive, brought by the job as the launchpad would."""
    job = {"repositoryLocationName": LOCATION, "repositoryName": "__repository__", "jobName": "archive_day"}
    tags = [{"key": "dagster/partition", "value": day.isoformat()}]
    parameters = {"selector": job, "executionMetadata": {"tags": tags}, "runConfigData": "{}"}
    mutation = """mutation($p: ExecutionParams!) {
        launchRun(executionParams: $p) { __typename ... on LaunchRunSuccess { run { id } } }
    }"""
    launched = ui.ask(mutation, p=parameters)["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
    ui.wait_until(lambda: ui.ask(query, id=launched["run"]["id"])["runOrError"]["status"] in ENDED)


def epochs_trained(ui: Ui) -> int:
    facts = read_facts(Lake(ui.home).model("office", "dyrep_wide-concat"))
    assert facts is not None
    return facts["settings"]["epochs"]


def test_dev_says_where_it_serves_and_warns_of_nothing_superseded(ui: Ui) -> None:
    log = (ui.home / "dev.log").read_text()
    assert f"The UI is at {ui.url}\n" in log
    assert "SupersessionWarning" not in log


def test_a_page_of_another_site_cannot_start_anything(ui: Ui, browser: Browser, tmp_path: Path) -> None:
    forged = f"{ui.url}/graphql?{urlencode({'query': 'mutation { reloadWorkspace { __typename } }'})}"
    (tmp_path / "index.html").write_text("a page of another site")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site, browser.new_page() as other:
        Thread(target=site.serve_forever, daemon=True).start()
        other.goto(f"http://localhost:{site.server_port}/index.html")
        for method in ("GET", "POST"):
            with other.expect_response(lambda response: "/graphql" in response.url) as answer:
                other.evaluate("([url, method]) => fetch(url, {method, mode: 'no-cors'})", [forged, method])
            assert answer.value.status == 403
        site.shutdown()


def test_the_graph_shows_every_lane(ui: Ui, page: Page) -> None:
    visit(page, "/asset-groups")
    for lane in ("gharchive", "github", "office", "social_evolution", "results"):
        page.get_by_text(lane, exact=True).first.wait_for()


def test_the_queue_has_a_place_for_each_training_of_the_settings(ui: Ui) -> None:
    query = '{ instance { concurrencyLimit(concurrencyKey: "training") { slotCount } } }'
    assert ui.ask(query)["instance"]["concurrencyLimit"]["slotCount"] == 1


def test_an_asset_is_materialized_by_a_click_and_explains_itself(ui: Ui, page: Page) -> None:
    materialize(ui, page, "office", "event_table")
    page.go_back()
    page.get_by_text("Row count").first.wait_for()
    expect(page.get_by_text("112", exact=True).first).to_be_visible()
    expect(page.get_by_text("the event's place in the dataset, from 0").first).to_be_visible()
    expect(
        page.get_by_text("well_formed").or_(page.get_by_text("Latest check results")).first
    ).to_be_visible()


def test_the_settings_are_shown_as_a_resource(ui: Ui, page: Page) -> None:
    visit(page, SETTINGS)
    page.get_by_text("github_core").first.wait_for()
    expect(page.get_by_text(str(ui.home), exact=False).first).to_be_attached()


def test_a_training_is_launched_with_a_changed_config_and_trained_with_it(
    ui: Ui, page: Page, office_table: None
) -> None:
    train(ui, page, "ops: {train: {config: {epochs: 3, d: 8}}}")
    assert epochs_trained(ui) == 3


def test_a_key_that_does_not_exist_is_refused(ui: Ui, page: Page, office_table: None) -> None:
    type_config(ui, page, "ops: {train: {config: {epoch: 3}}}")
    page.get_by_text('unexpected config entry "epoch"').first.wait_for()
    expect(page.get_by_role("button", name="Launch Run")).to_be_disabled()


def test_two_trainings_make_a_plot_of_mar_beside_the_best_baseline(
    ui: Ui, page: Page, office_table: None
) -> None:
    materialize(ui, page, "office", "no_learn_baselines")
    while (trainings := len(ui.runs("train_chosen"))) < 2:
        train(ui, page, f"ops: {{train: {{config: {{epochs: {trainings + 1}}}}}}}")
        assert epochs_trained(ui) == trainings + 1
    visit(page, "/assets/office/trained_models")
    events = page.get_by_role("button", name="Events")
    while not events.is_visible():  # a click is lost while the page still loads
        page.get_by_role("button", name="Plots").click()
        page.wait_for_timeout(1000)
    events.click()
    for name in ("hits_at_10", "mrr", "mar_of_best_baseline"):
        page.get_by_text(name, exact=True).first.wait_for()
    page.get_by_text("mar_of_best_baseline", exact=True).first.scroll_into_view_if_needed()
    expect(page.locator("canvas").first).to_be_visible()


def test_a_training_that_is_ended_in_the_ui_ends(ui: Ui, page: Page, office_table: None) -> None:
    type_config(ui, page, "ops: {train: {config: {epochs: 1000000, d: 4}}}")
    page.get_by_role("button", name="Launch Run").click()
    page.wait_for_url("**/runs/*")
    rest(page)
    ui.wait_until(lambda: list(Lake(ui.home).model("office", "*").parent.glob("*/checkpoint.safetensors")))
    page.go_back()
    page.get_by_role("button", name="Terminate", exact=False).first.click()
    page.get_by_role("button", name=re.compile("^Terminate 1")).click()
    ui.wait_until(lambda: ui.runs("train_chosen")[0] in ENDED)
    assert ui.runs("train_chosen")[0] == "CANCELED"


def test_a_day_with_a_failed_hour_is_red_and_stays_so_when_a_good_day_comes(ui: Ui, page: Page) -> None:
    for day in (YESTERDAY, YESTERDAY - timedelta(days=1)):
        bring(ui, day)
        ui.wait_until(lambda: set(ui.runs("archive_day")) <= ENDED)
        page.goto(f"{ui.url}/assets/github_events?view=checks&checkDetail=no_hour_failed")
        page.get_by_text("no_hour_failed").first.wait_for()
        expect(page.get_by_text("Failed").first).to_be_visible()
        page.screenshot(path=ui.shots / f"check after {day}.png")


def test_the_schedule_is_switched_on_and_ticks(ui: Ui, page: Page) -> None:
    before = len(ui.runs("archive_day"))
    visit(page, f"/locations/{LOCATION}/schedules/newest_archive_day")
    page.get_by_text("Schedule has never run").wait_for()
    page.locator("label", has=page.locator("input[type=checkbox]")).first.click()
    rest(page)
    ui.wait_until(lambda: len(ui.runs("archive_day")) > before)
    page.go_back()
    expect(page.get_by_text("Schedule has never run")).to_be_hidden()
    expect(page.get_by_text("1 run requested").or_(page.get_by_text("Requested")).first).to_be_visible()
    page.locator(
        "label", has=page.locator("input[type=checkbox]")
    ).first.click()  # off: it ticks every minute
    ui.wait_until(lambda: set(ui.runs("archive_day")) <= ENDED)


def test_a_changed_env_applies_when_the_code_location_is_reloaded(ui: Ui, page: Page) -> None:
    visit(page, SETTINGS)
    row = page.get_by_role("row", name=re.compile("^github_core "))
    expect(row).to_contain_text("false")
    (ui.home / ".env").write_text("LDG_GITHUB_CORE=yes\n")
    visit(page, "/asset-groups")
    page.get_by_role("button", name="Reload definitions").click()
    # Another process imports them: on a machine that is busy that takes longer than a page may.
    page.get_by_text("Definitions reloaded").first.wait_for(timeout=PATIENCE * 1000)
    visit(page, SETTINGS)
    expect(row).to_contain_text("true")
    (ui.home / ".env").unlink()

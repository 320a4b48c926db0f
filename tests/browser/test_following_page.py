"""The report's first page in a browser: a person is looked up by name."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from pipeline.lake import Lake
from pipeline.results.warehouse import build_warehouse
from pipeline.show.report import write_report
from tests.followed_world import store_followed

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">"


def test_a_person_is_found_with_partners_and_how_forecasts_did(browser: Browser, tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    store_followed(lake, ["ada", "Bob", HOSTILE])
    build_warehouse(lake)
    page = browser.new_page(viewport={"width": 390, "height": 800})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(write_report(lake).as_uri())
    expect(page.locator("#likely")).to_be_visible()
    page.fill("#person-search", "bob")
    expect(page.locator("#person-name")).to_have_text("Bob")
    expect(page.locator("#person-partners li").first).to_contain_text(HOSTILE)
    expect(page.locator("#person-record")).to_have_text(
        "Of 9 events in the last four weeks, 9 went to the partner that was forecast first and 9 to one of "
        "the first ten."
    )
    assert page.title() == "Latent dynamic graphs: report"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []
    page.close()

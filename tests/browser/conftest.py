"""A real browser for the pages people look at."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless browser, or a skip that says how to get one."""
    programs = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    program = next((path for path in programs if path), None)
    if program is None:
        pytest.skip("no browser at hand: install chromium or google-chrome to run the browser tests")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """The one page of a file's tests: a browser takes longer to open another than to load most of them."""
    with browser.new_page() as page:
        yield page

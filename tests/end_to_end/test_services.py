"""The services of the UI as a machine runs them: what they make of a changed setting."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import Services
from tests.whole_system import OF_A_SERVER, environment, wait_for

LOCATION = "assets.definitions"
RELOAD = """mutation($name: String!) {
  reloadRepositoryLocation(repositoryLocationName: $name) { __typename }
}"""
SETTINGS = """query($selector: ResourceSelector!) {
  topLevelResourceDetailsOrError(resourceSelector: $selector) {
    ... on ResourceDetails { configFields { name defaultValueAsJson } }
  }
}"""


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Services]:
    services = Services(environment(tmp_path), tmp_path / "services")
    try:
        services.start("code")
        wait_for(services.has_code, services.processes["code"])
        services.start("web")
        wait_for(services.has_assets, services.processes["web"], pause=OF_A_SERVER)
        yield services
    finally:
        services.kill_all()


def setting(pages: Services, name: str) -> object:
    """A setting as the page of the resource shows it."""
    selector = {
        "repositoryLocationName": LOCATION,
        "repositoryName": "__repository__",
        "resourceName": "settings",
    }
    answer = pages.ask(SETTINGS, selector=selector)
    assert answer is not None
    fields = answer["topLevelResourceDetailsOrError"]["configFields"]
    return {field["name"]: json.loads(field["defaultValueAsJson"]) for field in fields}[name]


def test_a_changed_env_applies_when_the_code_location_of_a_service_is_reloaded(
    pages: Services, tmp_path: Path
) -> None:
    assert setting(pages, "keep_raw") is True
    (tmp_path / ".env").write_text("LDG_KEEP_RAW=no\n")
    answer = pages.ask(RELOAD, name=LOCATION)
    assert answer is not None
    assert answer["reloadRepositoryLocation"]["__typename"] == "WorkspaceLocationEntry"
    assert setting(pages, "keep_raw") is False

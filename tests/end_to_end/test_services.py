"""The services of the UI as a machine runs them: what they make of a changed setting and of foreign pages."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.services import Services
from tests.whole_system import OF_A_SERVER, PATIENCE, environment, wait_for

LOCATION = "assets.definitions"
RELOAD = """mutation($name: String!) {
  reloadRepositoryLocation(repositoryLocationName: $name) { __typename }
}"""
SETTINGS = """query($selector: ResourceSelector!) {
  topLevelResourceDetailsOrError(resourceSelector: $selector) {
    ... on ResourceDetails { configFields { name defaultValueAsJson } }
  }
}"""


START = "mutation { reloadWorkspace { __typename } }"
NAMED = "ldg.example.org"
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "graphql-ws",
}


@pytest.fixture(scope="module")
def services_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("services")


@pytest.fixture(scope="module")
def pages(services_home: Path) -> Iterator[Services]:
    services = Services(environment(services_home, LDG_UI_HOSTS=NAMED), services_home / "services")
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
    pages: Services, services_home: Path
) -> None:
    assert setting(pages, "github_core") is False
    (services_home / ".env").write_text("LDG_GITHUB_CORE=yes\n")
    answer = pages.ask(RELOAD, name=LOCATION)
    assert answer is not None
    assert answer["reloadRepositoryLocation"]["__typename"] == "WorkspaceLocationEntry"
    assert setting(pages, "github_core") is True


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "graphql", {}, 200),
        ("POST", "graphql", {"Host": "localhost:{port}", "Origin": "http://127.0.0.1:{port}"}, 200),
        ("POST", "graphql", {"Host": NAMED, "Origin": f"https://{NAMED}"}, 200),
        ("GET", "runs", {"Sec-Fetch-Site": "cross-site", **NAVIGATION}, 200),
        ("GET", "graphql", WEBSOCKET | {"Origin": "http://localhost:{port}"}, 101),
        ("POST", "graphql", {"Host": "evil.example:{port}"}, 421),
        ("GET", "runs", {"Host": "127.0.0.1:1"}, 421),
        ("POST", "graphql", {"Origin": "http://evil.example"}, 403),
        ("POST", "graphql", {"Origin": "http://localhost:8888"}, 403),
        ("POST", "graphql", {"Origin": "null"}, 403),
        ("POST", "graphql", {"Sec-Fetch-Site": "cross-site", **NAVIGATION}, 403),
        ("GET", "server_info", {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ("GET", "runs", {"Sec-Fetch-Site": "cross-site", **NAVIGATION, "Sec-Fetch-Dest": "iframe"}, 403),
        ("GET", "graphql", {}, 405),
        ("GET", "graphql", WEBSOCKET | {"Origin": "http://evil.example"}, 403),
        ("GET", "graphql", WEBSOCKET | {"Host": "evil.example"}, 403),
    ],
)
def test_requests_of_other_sites_are_refused_and_those_of_own_pages_are_answered(
    pages: Services, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = requests.request(
        method,
        f"http://127.0.0.1:{pages.web_port}/{path}",
        params={"query": START},
        headers={name: text.format(port=pages.web_port) for name, text in headers.items()},
        timeout=PATIENCE,
        stream=True,
    )
    assert answer.status_code == status
    if status == 421:
        assert "LDG_UI_HOSTS" in answer.text
    answer.close()

"""Social Evolution over HTTP: the downloader of the hour files, on a zip, and no secret of its address."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.sources.download import DownloadSettings
from pipeline.sources.social_evolution.files import BY_HAND, fetch_social_evolution, read_social_evolution
from tests.pipeline.sources.gharchive.archive_server import PAGE, Archive, serving
from tests.pipeline.sources.test_social_evolution import zip_of

NAME = "SocialEvolution.zip"
FAST = DownloadSettings(attempts=4, backoff=0.005, read_timeout=1.0, attempt_timeout=2.0)
SOON = replace(FAST, attempts=2, attempt_timeout=0.5)  # given up, where nothing can be had
SECRETS = ("someone", "s3cret", "t0ken")


@pytest.fixture
def zip_archive(tmp_path):
    with serving(Archive(files={NAME: zip_of(tmp_path / NAME).read_bytes(), "login": PAGE})) as archive:
        yield archive


def fetch(url, lake, log=None, settings=FAST):
    return fetch_social_evolution(url, lake, terms_accepted=True, log=log, settings=settings)


def test_a_url_is_downloaded_once_the_terms_are_accepted_and_only_once(zip_archive, lake):
    url = f"{zip_archive.url}/{NAME}"
    with pytest.raises(PermissionError, match=BY_HAND) as error:
        fetch_social_evolution(url, lake, terms_accepted=False)
    assert "set LDG_SOCIAL_EVOLUTION_TERMS_ACCEPTED=yes" in str(error.value)
    assert zip_archive.requests == []
    lines: list[str] = []
    assert fetch(url, lake, lines.append) == fetch(url, lake)
    assert len(zip_archive.requests) == len(zip_archive.requests_for(NAME)) == 1
    assert "downloaded" in lines[0]


def test_a_url_without_the_data_says_how_to_get_it_by_hand(zip_archive, lake):
    with pytest.raises(ConnectionError, match=BY_HAND):
        fetch(f"{zip_archive.url}/absent.zip", lake)


def test_a_file_lost_since_the_download_is_downloaded_again(zip_archive, lake):
    url = f"{zip_archive.url}/{NAME}"
    fetch(url, lake)
    (lake.social_evolution_raw / "SMS.csv").unlink()
    with pytest.raises(FileNotFoundError, match="build social_evolution_files again"):
        read_social_evolution(lake)
    fetch(url, lake)
    assert len(zip_archive.requests) == 2
    assert read_social_evolution(lake).source == url


@pytest.mark.parametrize("tags", ["md5", "opaque", "none"])
@pytest.mark.parametrize(
    "faults",
    [[500, "reset"], ["short", "short range"], ["short", "splice"], ["login", "empty", "cut on the way"]],
    ids=str,
)
def test_a_misbehaving_server_gives_the_zip_in_the_end(zip_archive, lake, faults, tags):
    zip_archive.tags = tags
    zip_archive.faults[NAME] = list(faults)
    fetch(f"{zip_archive.url}/{NAME}", lake)
    assert read_social_evolution(lake).source == f"{zip_archive.url}/{NAME}"
    assert not list(lake.social_evolution_raw.glob(".*"))


@pytest.mark.parametrize("fault", ["login", "empty", "page as file", "cut", "huge length", "odd length", 404])
def test_what_is_not_a_whole_zip_leaves_the_files_fetched_before(zip_archive, lake, fault):
    fetch(f"{zip_archive.url}/{NAME}", lake)
    before = {path: path.read_bytes() for path in lake.social_evolution_raw.iterdir()}
    zip_archive.always["other.zip"] = fault
    zip_archive.files["other.zip"] = zip_archive.files[NAME]
    with pytest.raises(ConnectionError, match=r"could not be downloaded from .*Get it by hand"):
        fetch(f"{zip_archive.url}/other.zip", lake)
    assert {path: path.read_bytes() for path in lake.social_evolution_raw.iterdir()} == before


def test_a_password_and_a_query_are_nowhere_to_be_read(zip_archive, lake, tmp_path):
    url = zip_archive.url.replace("http://", "http://someone:s3cret@") + f"/{NAME}?token=t0ken"
    lines: list[str] = []
    files = fetch(url, lake, lines.append)
    assert zip_archive.requests[0][1]["Authorization"].startswith("Basic ")
    assert files.source == f"{zip_archive.url}/{NAME}"
    lines.append(repr(files))
    for fault in (500, "login", "reset", "redirects", "slow headers", "huge length"):
        zip_archive.always[NAME] = fault
        with pytest.raises(ConnectionError) as error:
            fetch(url.replace("t0ken", f"t0ken-{fault}".replace(" ", "-")), lake, lines.append, SOON)
        lines += [str(error.value), repr(error.value.__cause__), repr(error.value.__context__)]
    with pytest.raises(ConnectionError) as error:
        fetch("http://someone:s3cret@127.0.0.1:9/a.zip?token=t0ken", lake, lines.append)
    lines.append(str(error.value))
    written = [path.read_bytes() for path in lake.home.rglob("*") if path.is_file()]
    for word in SECRETS:
        assert not [text for text in lines if word in text]
        assert not [content for content in written if word.encode() in content]


def test_another_query_is_another_file_and_another_password_is_not(zip_archive, lake):
    base = f"{zip_archive.url}/{NAME}"
    fetch(f"{base}?file=1", lake)
    fetch(f"{base}?file=1".replace("http://", "http://someone:s3cret@"), lake)
    assert len(zip_archive.requests) == 1
    fetch(f"{base}?file=2", lake)
    assert len(zip_archive.requests) == 2


def test_a_secret_that_was_stored_before_is_cut(zip_archive, lake):
    url = zip_archive.url.replace("http://", "http://someone:s3cret@") + f"/{NAME}?token=t0ken"
    files = fetch(url, lake)
    record = lake.social_evolution_raw / "source.json"
    record.write_text(json.dumps({"source": url, "sha256": files.sha256}))
    assert fetch(url, lake) == files
    assert len(zip_archive.requests) == 1
    assert not [word for word in SECRETS if word in record.read_text()]


def test_a_zip_of_other_things_is_told_and_not_kept(zip_archive, lake, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("readme.txt", "something else")
    zip_archive.files["other.zip"] = (tmp_path / "other.zip").read_bytes()
    with pytest.raises(ValueError, match="lacks Calls"):
        fetch(f"{zip_archive.url}/other.zip", lake)
    assert not list(lake.social_evolution_raw.glob(".*"))

"""The whole sample hours and the single shapes, held against a mapping written out plainly."""

import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from urllib.parse import urlparse

import pytest

from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import read_file
from tests.pipeline.sources.gharchive.making import store

WITH_MEMBER = EventRules(associations=frozenset({"FollowEvent", "MemberEvent"}))
BY_OWNER = ["Watch", "Fork", "Push", "Issues", "IssueComment", "PullRequest", "CommitComment"]
HOURS = ["2011-02-15-0.json.gz", "2013-02-15-0.json.gz", "2015-01-01-0.json.gz"]
SHAPES = ["2011-early", "2011-mid", "2011-late", "2012-slash-date", "2013", "2026"]


def expected(event):
    """`ignored`, `quarantined`, or who meets whom where and when: the archive's table of shapes, plainly."""
    kind = event["type"].removesuffix("Event")
    if kind not in [*BY_OWNER, "Follow", "Member"]:
        return "ignored"
    payload = event.get("payload") or {}
    if "repository" in event or isinstance(event["actor"], str | None):  # shape B
        actor = event["actor"]
        repository = event.get("repository") or {}
        owner, name = repository.get("owner"), repository.get("name")
        if not owner and kind not in ["Fork", "Follow"]:
            owner = urlparse(event["url"]).path.split("/")[1]
    else:  # shapes A, C, D
        actor = event["actor"].get("login") or payload.get("actor")
        repo = event["repo"]["name"] if event["repo"]["name"] != "/" else payload.get("repo", "/")
        owner, name = repo.split("/")
    if kind == "Follow":
        counterpart = payload["target"]["login"]
    elif kind == "Member":
        member = payload["member"]
        counterpart = member if isinstance(member, str) else member["login"]
    else:
        counterpart = owner
    if not actor or not counterpart:
        return "quarantined"
    if actor.lower() == counterpart.lower():
        return "ignored"
    written = event["created_at"]
    form = "%Y/%m/%d %H:%M:%S %z" if "/" in written else "%Y-%m-%dT%H:%M:%S%z"
    moment = datetime.strptime(written, form).astimezone(UTC).replace(tzinfo=None)
    number = (
        event["actor"].get("id") if isinstance(event["actor"], dict) and event["actor"].get("login") else None
    )
    label = "association" if kind in ["Follow", "Member"] else "communication"
    return (event["type"], label, actor, number, counterpart, f"{owner}/{name}" if owner else None, moment)


def assert_as_mapped(path, text):
    events = [json.loads(line) for line in text.splitlines() if line.strip()]
    fates = [expected(event) for event in events]
    tables = read_file(path, path.name, WITH_MEMBER)
    columns = ["type", "kind", "actor", "actor_id", "counterpart", "repo", "created_at"]
    assert tables.events.select(columns).rows() == [fate for fate in fates if isinstance(fate, tuple)]
    counts = Counter(fate for fate in fates if isinstance(fate, str))
    assert tables.counts.ignored == counts["ignored"]
    assert tables.counts.quarantined == counts["quarantined"]
    assert tables.counts.duplicates == 0
    assert tables.counts.events == len(events)
    assert not tables.damaged
    ids = [
        str(event["id"])
        for event, fate in zip(events, fates, strict=True)
        if "id" in event and isinstance(fate, tuple)
    ]
    if ids:
        assert tables.events["event_id"].to_list() == ids
    assert tables.events["event_id"].n_unique() == len(tables.events)
    assert tables.events["file"].unique().to_list() in ([path.name], [])


@pytest.mark.parametrize("name", HOURS)
def test_every_event_of_a_whole_hour_is_resolved_as_the_mapping_says(real_data, name):
    path = real_data / "gharchive" / name
    assert_as_mapped(path, gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_single_event_of_a_shape_is_resolved_as_the_mapping_says(real_data, shape, tmp_path):
    text = (real_data / "gharchive" / f"shape-{shape}.jsonl").read_bytes()
    assert_as_mapped(store(tmp_path / "2012-01-01-0.json.gz", text), text)


@pytest.mark.parametrize("name", HOURS)
def test_an_hour_without_any_separator_reads_the_same(real_data, name, tmp_path):
    path = real_data / "gharchive" / name
    glued = gzip.decompress(path.read_bytes()).replace(b"\n", b"")
    whole = read_file(path, name, WITH_MEMBER)
    apart = read_file(store(tmp_path / name, glued), name, WITH_MEMBER)
    assert apart.events.equals(whole.events)
    assert apart.counts == whole.counts

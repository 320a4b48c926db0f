import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.sources.sample import GITHUB_WORLD, SAMPLE_ENVIRONMENT, sample_paths
from pipeline.sources.sample.gharchive import BOTS, COMMUNICATIONS, MISSING_HOUR, write_hour_files
from pipeline.sources.sample.world import simulate

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def files(built_world: Path) -> Files:
    folder = sample_paths(built_world).gharchive
    return {
        path.name.removesuffix(".json.gz"): gzip.decompress(path.read_bytes()) for path in folder.iterdir()
    }


@pytest.fixture(scope="module")
def plain_events(files: Files) -> list[tuple[str, dict]]:
    """File name and event of every line that a plain JSON reader reads."""
    events = []
    for name, body in files.items():
        for line in body.splitlines():
            try:
                events.append((name, json.loads(line)))
            except ValueError:
                continue
    return events


def actor_of(event: dict) -> str:
    actor = event["actor"]
    return (actor["login"] if isinstance(actor, dict) else actor or "").lower()


def counterpart_of(event: dict) -> str:
    if event["type"] == "FollowEvent":
        return event["payload"]["target"]["login"].lower()
    if event["type"] == "MemberEvent":
        return event["payload"]["member"]["login"].lower()
    if "repo" in event:
        return event["repo"]["name"].split("/")[0].lower()
    return event["repository"]["owner"].lower()


def time_of(event: dict) -> datetime:
    return datetime.fromisoformat(event["created_at"]).astimezone(UTC).replace(tzinfo=None)


def test_every_hour_has_a_file_but_the_missing_one(files: Files):
    days = [f"2014-12-{day}" for day in range(19, 32)] + [f"2015-01-{day:02}" for day in range(1, 12)]
    expected = {f"{day}-{hour}" for day in days for hour in range(24)} - {MISSING_HOUR}
    assert set(files) == expected
    assert all(files.values())


def test_files_of_2014_have_the_old_shape_with_pacific_hours(plain_events: list[tuple[str, dict]]):
    old = [(name, event) for name, event in plain_events if name < "2015" and event["type"] != "Event"]
    own_hour = 0
    for name, event in old:
        assert isinstance(event["actor"], str)
        assert event["actor_attributes"]["login"] == event["actor"]
        assert "id" not in event
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d-08:00", event["created_at"])
        own_hour += name == f"{event['created_at'][:10]}-{int(event['created_at'][11:13])}"
        if event["type"] not in ("FollowEvent", "GistEvent"):
            assert event["repository"]["owner"]
            assert event["repository"]["name"]
    assert own_hour > 0.99 * len(old)  # the others are repeated from the hour before


def test_files_since_2015_have_the_new_shape_in_utc(plain_events: list[tuple[str, dict]]):
    new = [event for name, event in plain_events if name >= "2015-01-01-1" and event["type"] != "Event"]
    for event in new:
        if "id" not in event:
            continue
        assert event["actor"]["login"]
        assert event["repo"]["name"].count("/") == 1
        assert event["created_at"].endswith("Z")
    ids = Counter(event["id"] for event in new if "id" in event)
    assert max(ids.values()) == 2, "a repeated event keeps its id"
    assert not {"FollowEvent", "GistEvent"} & {event["type"] for event in new}


def test_all_communications_and_both_associations_occur_with_types_that_carry_no_rule(
    plain_events: list[tuple[str, dict]],
):
    old = {event["type"] for name, event in plain_events if name < "2015"}
    new = {event["type"] for name, event in plain_events if name > "2015"}
    assert set(COMMUNICATIONS) <= old & new
    assert {"FollowEvent", "GistEvent", "CreateEvent", "DeleteEvent"} <= old
    assert {"MemberEvent", "CreateEvent", "DeleteEvent", "GollumEvent"} <= new


def test_self_loops_are_about_half_of_all_pairs(plain_events: list[tuple[str, dict]]):
    pairs = [event for _, event in plain_events if event["type"] in COMMUNICATIONS]
    share = sum(actor_of(event) == counterpart_of(event) for event in pairs) / len(pairs)
    assert 0.35 < share < 0.6


def test_bots_communicate_and_never_associate(plain_events: list[tuple[str, dict]]):
    types = {actor: set() for actor in BOTS}
    for _, event in plain_events:
        if actor_of(event) in types:
            types[actor_of(event)].add(event["type"])
    assert set(types) == set(BOTS)
    assert all(types.values())
    assert not {"FollowEvent", "MemberEvent"} & set.union(*types.values())


def test_each_kind_of_damage_is_there(files: Files):
    lines = [line for body in files.values() for line in body.splitlines()]
    decoder = json.JSONDecoder()
    glued = cut = invalid = 0
    for line in lines:
        try:
            text = line.strip(b"\0").decode()
        except UnicodeDecodeError:
            invalid += 1
            continue
        try:
            _, end = decoder.raw_decode(text)
            glued += end < len(text)
        except ValueError:
            cut += 1
    assert glued >= 5
    assert cut >= 4 + 3  # cut and glued to the next, and truncated last lines
    assert invalid >= 6
    assert sum(not body.endswith(b"\n") for body in files.values()) == 3
    assert sum(b"\0" * 512 in body for body in files.values()) == 3
    assert any(b'"type":"Event"' in line for line in lines)


def test_exact_duplicates_are_within_a_file_and_across_neighbours(files: Files):
    seen: dict[bytes, list[str]] = {}
    for name, body in files.items():
        for line in body.splitlines():
            seen.setdefault(line, []).append(name)
    repeated = [names for names in seen.values() if len(names) == 2]
    assert any(names[0] == names[1] for names in repeated)
    assert any(names[0] != names[1] for names in repeated)


def test_the_suggested_thresholds_leave_some_sixty_people_mostly_of_the_planted_graph(
    plain_events: list[tuple[str, dict]],
):
    start, split = (
        datetime.fromisoformat(SAMPLE_ENVIRONMENT[f"LDG_GITHUB_{name}"]) for name in ("START", "SPLIT")
    )
    associations = set(SAMPLE_ENVIRONMENT["LDG_ASSOCIATIONS"].split(","))
    rows = {
        (actor_of(event), counterpart_of(event), event["type"], time_of(event))
        for _, event in plain_events
        if event["type"] in associations | set(COMMUNICATIONS)
    }
    window = [row for row in rows if row[3] >= start and row[0] != row[1]]
    communications = Counter(actor for actor, _, kind, _ in window if kind in COMMUNICATIONS)
    declared = Counter(actor for actor, _, kind, _ in window if kind in associations)
    inside = {
        actor
        for actor in communications
        if communications[actor] >= int(SAMPLE_ENVIRONMENT["LDG_GITHUB_MIN_COMMUNICATIONS"])
        and declared[actor] >= int(SAMPLE_ENVIRONMENT["LDG_GITHUB_MIN_ASSOCIATIONS"])
    }
    assert 55 <= len(inside) <= 70
    between = [row for row in window if row[0] in inside and row[1] in inside]
    assert 4_500 <= sum(row[2] in COMMUNICATIONS for row in between) <= 6_000
    assert 150 <= sum(row[2] in associations for row in between) <= 300
    assert sum(row[3] >= split for row in between) > 800
    initial = [
        row for row in rows if row[3] < start and row[2] == "FollowEvent" and {row[0], row[1]} <= inside
    ]
    assert len(initial) > 20


def test_a_world_outside_the_file_days_is_refused(tmp_path: Path):
    late = simulate(replace(GITHUB_WORLD, end=datetime(2015, 2, 1), interactions=50))
    with pytest.raises(ValueError, match="must lie between"):
        write_hour_files(late, tmp_path / "files")

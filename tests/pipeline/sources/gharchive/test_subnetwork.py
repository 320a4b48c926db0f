"""The dense subnetwork: exactly the right accounts, and exactly their events."""

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipeline.event_table import EventTable, Split
from pipeline.sources.gharchive import counts
from pipeline.sources.gharchive.subnetwork import (
    Subnetwork,
    densest_members,
    find_subnetwork,
    read_subnetwork,
    subnetwork_table,
    write_subnetwork,
)
from pipeline.sources.gharchive.subnetwork_rule import BOT_PATTERNS, SubnetworkRule

START = date(2013, 1, 1)
DAYS = 12
SCHEMA = {
    "event_id": pl.String,
    "type": pl.String,
    "kind": pl.String,
    "actor": pl.String,
    "actor_id": pl.Int64,
    "counterpart": pl.String,
    "repo": pl.String,
    "created_at": pl.Datetime("us"),
    "file": pl.String,
}


class Archive:
    """Events planted one by one, then written as the lake's daily folders."""

    def __init__(self) -> None:
        self.days: dict[date, list[tuple]] = {}
        self.count = 0

    def add(self, day: date, actor: str, counterpart: str, type_: str) -> None:
        self.count += 1
        moment = datetime(day.year, day.month, day.day) + timedelta(seconds=self.count % 86_400)
        kind = "association" if type_ in ("FollowEvent", "MemberEvent") else "communication"
        row = (f"e{self.count}", type_, kind, actor, 1, counterpart, f"{counterpart}/r", moment)
        self.days.setdefault(day, []).append((*row, f"{day}-0.json.gz"))

    def spread(self, actor: str, counterparts: list[str], type_: str, count: int) -> None:
        """`count` events over the whole window, counterparts in turn."""
        for place in range(count):
            day = START + timedelta(days=(place * 7) % DAYS)
            self.add(day, actor, counterparts[place % len(counterparts)], type_)

    def repeat(self, actor: str, counterpart: str, days: tuple[int, ...]) -> None:
        """One and the same event in the files of several days."""
        row = (f"{actor}-once", "WatchEvent", "communication", actor, 1, counterpart, f"{counterpart}/r")
        for day in (START + timedelta(days=number) for number in days):
            self.days.setdefault(day, []).append((*row, datetime(2013, 1, 6), f"{day}-0.json.gz"))

    def write(self, folder: Path) -> Path:
        for day, rows in self.days.items():
            target = folder / f"date={day}"
            target.mkdir()
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(target / "events.parquet")
        return folder


OUTSIDERS = [f"outsider{number}" for number in range(50)]
RULE = SubnetworkRule(
    min_communications=20, min_associations=3, start=START, end=START + timedelta(days=DAYS - 1)
)
SPLIT = Split(datetime(2013, 1, 9), "America/Toronto")


@pytest.fixture(scope="module")
def planted_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weeks of days in which who qualifies is known."""
    world = Archive()
    # Qualify: just at the thresholds, over them, and with the login's case changing on the way.
    world.spread("At", [*OUTSIDERS[:19], "over"], "WatchEvent", 20)
    world.spread("At", ["Over", *OUTSIDERS[:2]], "FollowEvent", 3)
    world.spread("over", ["at", "renamed"], "PushEvent", 60)
    world.spread("over", ["AT", "Renamed", "outsider1"], "FollowEvent", 9)
    world.spread("Renamed", ["over"], "IssuesEvent", 12)
    world.spread("renamed", ["Over"], "IssuesEvent", 7)
    world.spread("RENAMED", ["at", "over", "outsider3"], "FollowEvent", 3)
    world.add(START + timedelta(days=DAYS - 1), "reNamed", "outsider3", "IssuesEvent")
    # Do not: one short of a threshold, self-interactions, bots, activity outside the window.
    world.spread("few-communications", ["over"], "WatchEvent", 19)
    world.spread("few-communications", ["over"], "FollowEvent", 5)
    world.spread("few-associations", ["over"], "WatchEvent", 500)
    world.spread("few-associations", ["over", "at"], "FollowEvent", 2)
    world.spread("selfish", ["SELFISH"], "PushEvent", 100)
    world.spread("selfish", ["over"], "FollowEvent", 5)
    world.spread("Tireless-Bot", ["over"], "WatchEvent", 400)
    world.spread("Tireless-Bot", ["over"], "FollowEvent", 40)
    for number in range(25):
        world.add(START - timedelta(days=1 + number % 5), "early", "over", "WatchEvent")
        world.add(START + timedelta(days=DAYS + number % 5), "late", "over", "WatchEvent")
    world.spread("early", ["over"], "FollowEvent", 5)
    world.spread("late", ["over"], "FollowEvent", 5)
    # One event archived in three files must not lift its actor over the threshold.
    world.spread("archived-thrice", ["over"], "FollowEvent", 3)
    world.spread("archived-thrice", ["over"], "WatchEvent", 18)
    world.repeat("archived-thrice", "over", days=(5, 6, 7))
    # An event among members archived twice is one event; a member's work on its own is none.
    world.repeat("over", "at", days=(8, 9))
    world.spread("over", ["OVER"], "PushEvent", 4)
    # Before the window: the initial associations, one of them told twice.
    world.add(START - timedelta(days=40), "at", "renamed", "FollowEvent")
    world.add(START - timedelta(days=41), "at", "Renamed", "FollowEvent")
    world.add(START - timedelta(days=42), "at", "outsider7", "FollowEvent")
    world.add(START - timedelta(days=43), "over", "at", "WatchEvent")
    for number, outsider in enumerate(OUTSIDERS):
        world.spread(outsider, ["over", "at", OUTSIDERS[number - 1]], "WatchEvent", 19)
    return world.write(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def network(planted_days: Path) -> Subnetwork:
    """The accounts that qualify; nobody changes it."""
    return find_subnetwork(planted_days, RULE)


@pytest.fixture(scope="module")
def network_table(planted_days: Path, network: Subnetwork) -> EventTable:
    """Their event table; nobody changes it."""
    return subnetwork_table(planted_days, network, SPLIT)


def test_a_generated_archive_gives_exactly_the_planted_network(network):
    assert network.accounts.rows() == [
        ("At", 20, 3, 1, 1),
        ("over", 61, 9, 61, 6),
        ("reNamed", 20, 3, 19, 2),
    ]


def test_every_account_seen_is_a_member_or_removed_by_one_rule(network):
    assert network.removed == {
        "bot": 1,
        "fewer than 20 communications": 5 + len(OUTSIDERS),
        "fewer than 3 associations": 1,
    }
    assert network.seen == network.accounts.height + sum(network.removed.values())
    assert (network.days, network.missing_days) == (DAYS, 0)


def test_the_table_holds_what_members_do_among_themselves(network_table):
    assert network_table.nodes["name"].to_list() == ["At", "over", "reNamed"]
    assert network_table.events.group_by("u", "v", "type").len().sort("u", "v", "type").rows() == [
        (0, 1, "FollowEvent", 1),
        (0, 1, "WatchEvent", 1),
        (1, 0, "FollowEvent", 3),
        (1, 0, "PushEvent", 30),
        (1, 0, "WatchEvent", 1),
        (1, 2, "FollowEvent", 3),
        (1, 2, "PushEvent", 30),
        (2, 0, "FollowEvent", 1),
        (2, 1, "FollowEvent", 1),
        (2, 1, "IssuesEvent", 19),
    ]
    assert network_table.metadata["dropped"] == {"archived more than once": 1, "self-interaction": 4}


def test_follows_before_the_window_are_the_initial_graph_and_those_within_it_the_final_one(network_table):
    assert network_table.associations.rows() == [
        ("Follow", "final", 0, 1),
        ("Follow", "final", 1, 0),
        ("Follow", "final", 1, 2),
        ("Follow", "final", 2, 0),
        ("Follow", "final", 2, 1),
        ("Follow", "initial", 0, 2),
    ]
    assert network_table.metadata["relations"] == ["Follow"]


def test_the_table_is_the_same_whatever_the_number_of_threads(planted_days):
    subnetwork = find_subnetwork(planted_days, RULE, threads=1)
    one = subnetwork_table(planted_days, subnetwork, SPLIT, threads=1)
    two = subnetwork_table(planted_days, find_subnetwork(planted_days, RULE, threads=2), SPLIT, threads=2)
    assert one.events.equals(two.events)
    assert one.associations.equals(two.associations)


def test_the_core_keeps_only_accounts_that_keep_the_rule_among_themselves(tmp_path):
    world = Archive()
    ring = ["a", "b", "c"]
    for member, following in zip(ring, [*ring[1:], "a"], strict=True):
        world.spread(member, [following], "WatchEvent", 5)
        world.spread(member, [following], "FollowEvent", 1)
    # d leans on e, who leans on outsiders: e falls out first, then d.
    world.spread("d", ["e"], "WatchEvent", 9)
    world.spread("d", ["e"], "FollowEvent", 1)
    world.spread("e", ["outsider"], "WatchEvent", 9)
    world.spread("e", ["a"], "FollowEvent", 1)
    rule = replace(RULE, min_communications=5, min_associations=1)
    whole = find_subnetwork(world.write(tmp_path), rule)
    cored = find_subnetwork(tmp_path, replace(rule, core=True))
    assert whole.accounts["login"].to_list() == ["a", "b", "c", "d", "e"]
    assert cored.accounts["login"].to_list() == ["a", "b", "c"]
    assert cored.removed["not in the core"] == 2
    assert find_subnetwork(tmp_path, replace(rule, core=True, max_nodes=2)).accounts.is_empty()


def test_a_cap_keeps_the_densest_part(tmp_path):
    world = Archive()
    for member, counterpart, count in (
        ("a", "b", 9),
        ("b", "c", 8),
        ("c", "a", 7),
        ("d", "a", 6),
        ("e", "d", 5),
    ):
        world.spread(member, [counterpart], "WatchEvent", count)
        world.spread(member, ["outsider"], "WatchEvent", 50)
    rule = replace(RULE, min_communications=5, min_associations=0)
    # e leaves with 5 events, then d with the 6 it has left.
    network = find_subnetwork(world.write(tmp_path), replace(rule, max_nodes=3))
    assert network.accounts["login"].to_list() == ["a", "b", "c"]
    assert network.removed["beyond the densest 3"] == 2
    assert find_subnetwork(tmp_path, replace(rule, max_nodes=5)).accounts.height == 5


def test_equals_leave_in_reverse_order_of_login():
    pairs = pl.DataFrame({"u": ["a", "b", "c"], "v": ["b", "c", "a"], "communications": 1, "associations": 0})
    assert densest_members(pairs, {"a", "b", "c"}, 2) == {"a", "b"}


def test_the_densest_part_is_what_leaving_one_by_one_leaves():
    random = np.random.default_rng(0)
    for _ in range(20):
        u, v = random.integers(0, 30, (2, 120))
        many = random.zipf(1.6, 120).clip(max=500)
        pairs = pl.DataFrame({"u": u, "v": v, "communications": many, "associations": 1}).filter(
            pl.col("u") != pl.col("v")
        )
        for size in (2, 7, 20):
            assert densest_members(pairs, set(range(30)), size) == left_one_by_one(
                pairs, set(range(30)), size
            )


def left_one_by_one(pairs: pl.DataFrame, members: set[int], size: int) -> set[int]:
    """The rule as it is told."""
    while len(members) > size:
        degree = dict.fromkeys(members, 0)
        for u, v, communications, associations in pairs.iter_rows():
            if u in members and v in members:
                degree[u] += communications + associations
                degree[v] += communications + associations
        members = members - {min(members, key=lambda member: (degree[member], -member))}
    return members


def test_counting_each_day_apart_gives_the_same_network(tmp_path, monkeypatch):
    world = Archive()
    for number in range(3):
        for member, other in (("Ann", "bob"), ("bob", "ANN"), ("ann", "carl"), ("carl", "carl")):
            for type_ in ("WatchEvent", "FollowEvent", "PushEvent"):
                world.add(START + timedelta(days=number), member, other, type_)
    world.repeat("Ann", "bob", days=(0, 1, 2))
    world.repeat("carl", "bob", days=(1, 1, 3))
    rule = replace(RULE, min_communications=1, min_associations=0)
    together = find_subnetwork(world.write(tmp_path), rule)
    monkeypatch.setattr(counts, "STRETCH_BYTES", 0)
    apart = find_subnetwork(tmp_path, rule)
    assert apart.accounts.equals(together.accounts)
    assert apart.accounts.rows() == [("Ann", 13, 6, 13, 6), ("bob", 6, 3, 6, 3), ("carl", 1, 0, 1, 0)]
    assert (apart.seen, apart.removed) == (together.seen, together.removed)


def test_without_thresholds_everyone_who_acts_is_a_member(planted_days):
    everyone = find_subnetwork(
        planted_days, replace(RULE, min_communications=0, min_associations=0, bot_patterns=())
    )
    assert everyone.accounts.height == everyone.seen == 10 + len(OUTSIDERS)
    assert everyone.accounts["login"].is_unique().all()


def test_any_window_of_file_days_can_be_taken(planted_days):
    early = replace(RULE, start=START - timedelta(days=30), end=START + timedelta(days=DAYS - 1))
    assert "early" in find_subnetwork(planted_days, early).accounts["login"].to_list()


def test_several_association_types_become_several_relations(tmp_path):
    world = Archive()
    for member, other in (("a", "b"), ("b", "a")):
        world.spread(member, [other], "WatchEvent", 30)
        world.spread(member, [other], "MemberEvent", 2)
        world.spread(member, [other], "FollowEvent", 2)
    network_table = subnetwork_table(world.write(tmp_path), find_subnetwork(tmp_path, RULE), SPLIT)
    assert network_table.metadata["relations"] == ["Follow", "Member"]
    assert set(network_table.association_events["relation"]) == {"Follow", "Member"}


@pytest.mark.parametrize(
    "login",
    ["dependabot[bot]", "some-bot", "my_bot2", "bot-of-x", "buildbot", "acme-ci", "travis-ci", "ghost"],
)
def test_machines_match_a_bot_pattern(login):
    assert any(re.fullmatch(pattern, login) for pattern in BOT_PATTERNS)


@pytest.mark.parametrize(
    "login", ["abbott", "talbot", "botanist", "robota", "luci", "francisco", "jenkinson"]
)
def test_people_match_no_bot_pattern(login):
    assert not any(re.fullmatch(pattern, login) for pattern in BOT_PATTERNS)


def test_the_bot_patterns_are_documented_as_they_are():
    document = (Path(__file__).parents[4] / "docs" / "subnetwork.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"```text\n(.*?)```", document, re.DOTALL)
    assert tuple(listed.splitlines()) == BOT_PATTERNS


def test_without_bot_patterns_nobody_is_a_bot(planted_days):
    network = find_subnetwork(planted_days, replace(RULE, bot_patterns=()))
    assert network.removed["bot"] == 0
    assert "Tireless-Bot" in network.accounts["login"].to_list()


def test_a_subnetwork_is_read_back_as_written(network, tmp_path):
    write_subnetwork(network, tmp_path)
    read = read_subnetwork(tmp_path)
    assert read.accounts.equals(network.accounts)
    assert (read.rule, read.removed, read.seen) == (network.rule, network.removed, network.seen)


def test_a_half_replaced_subnetwork_is_refused(network, tmp_path):
    write_subnetwork(network, tmp_path)
    network.accounts.head(1).write_parquet(tmp_path / "accounts.parquet")
    with pytest.raises(ValueError, match="build github/subnetwork again"):
        read_subnetwork(tmp_path)


def test_an_empty_window_says_what_to_build(tmp_path):
    with pytest.raises(FileNotFoundError, match="no normalized events from 2013-01-01"):
        find_subnetwork(tmp_path, RULE)


def test_a_network_of_nobody_says_what_to_lower(planted_days):
    nobody = find_subnetwork(planted_days, replace(RULE, min_communications=10_000))
    with pytest.raises(ValueError, match=r"lower LDG_GITHUB_MIN_COMMUNICATIONS \(10000\)"):
        subnetwork_table(planted_days, nobody, SPLIT)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("min_communications", -1), ("min_associations", -1), ("max_nodes", 1), ("end", date(2012, 1, 1))],
)
def test_impossible_rules_are_refused_by_name(setting, value):
    with pytest.raises(ValueError, match=setting):
        SubnetworkRule(**{setting: value})

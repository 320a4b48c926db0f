"""Whom to follow: the densest core of the window without machines, or those the user names."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from pipeline.following.choice import choose
from pipeline.following.rule import FollowRule
from pipeline.following.window import Window
from pipeline.lake import Lake, write_parquet
from pipeline.schemas import GITHUB_EVENTS

WINDOW = Window(date(2026, 6, 1), date(2026, 6, 20))
Meeting = tuple[str, str, int, int]  # actor, counterpart, day of the window, minute of the day


def store(lake: Lake, meetings: Iterable[Meeting]) -> None:
    rows = [
        {
            **dict.fromkeys(GITHUB_EVENTS.names),
            "event_id": str(number),
            "type": "PushEvent",
            "kind": "communication",
            "actor": actor,
            "counterpart": counterpart,
            "created_at": datetime(2026, 6, 1) + timedelta(days=day, minutes=minute),
            "file": "x",
        }
        for number, (actor, counterpart, day, minute) in enumerate(meetings)
    ]
    for (day,), part in pl.DataFrame(rows, schema=GITHUB_EVENTS.types).group_by(
        pl.col("created_at").dt.date()
    ):
        assert isinstance(day, date)
        write_parquet(part, lake.github_day(day) / "00.parquet")


def names(lake: Lake, **rule) -> list[str]:
    people, _ = choose(lake, FollowRule(**rule), WINDOW)
    return people["name"].to_list()


def densest_by_hand(meetings: Iterable[Meeting], size: int) -> list[str]:
    """Whoever has the fewest days with the rest leaves, of equals the last by name, until `size` are left."""
    days = {
        (*sorted((actor.lower(), whom.lower())), day) for actor, whom, day, _ in meetings if actor != whom
    }
    left = {name for *pair, _ in days for name in pair}
    while len(left) > size:
        among = [pair for *pair, _ in days if set(pair) <= left]
        weight = Counter(name for pair in among for name in pair)
        left.remove(max(left, key=lambda name: (-weight[name], name)))
    return sorted(left)


@pytest.mark.parametrize("seed", range(2))
def test_the_core_is_what_is_left_when_the_least_connected_leave_one_by_one(lake: Lake, seed: int) -> None:
    random = np.random.default_rng(seed)
    meetings = [
        (f"u{int(a)}", f"u{int(b)}", int(random.integers(20)), int(random.integers(600, 1200)))
        for a, b in random.zipf(1.4, (900, 2)) % 60
        if a != b
    ]
    store(lake, meetings)
    for size in (3, 25):
        assert names(lake, nodes=size) == densest_by_hand(meetings, size)


def test_a_flood_of_one_day_counts_as_one_meeting(lake: Lake) -> None:
    flood = [("loud", "louder", 3, minute) for minute in range(600, 700)]
    quiet = [
        (a, b, day, 600) for a, b in (("ann", "bob"), ("bob", "cid"), ("cid", "ann")) for day in range(3)
    ]
    store(lake, flood + quiet)
    assert names(lake, nodes=3) == ["ann", "bob", "cid"]


def test_machines_are_told_by_their_names_their_numbers_and_their_sleeplessness(lake: Lake) -> None:
    circle = ("ann", "bob", "cid", "dot")
    friends = [(a, b, day, 600) for a in circle for b in circle for day in range(4) if a != b]
    bots = [("ci[bot]", b, day, 600) for b in circle for day in range(20)]
    busy = [("counter", circle[n % 4], day, 480 + n) for n in range(400) for day in range(5)]
    awake = [("watcher", circle[hour % 4], day, 60 * hour) for hour in range(24) for day in range(20)]
    store(lake, friends + bots + busy + awake)
    people, facts = choose(lake, FollowRule(nodes=6), WINDOW)
    assert people["name"].to_list() == list(circle)
    assert facts["machines"] == 3
    assert facts["missing_days"] == 0


def test_accounts_named_by_the_user_are_followed_as_spelled_last(lake: Lake) -> None:
    store(lake, [("Ann", "BOB", 1, 600), ("ANN", "cid", 2, 600), ("dot", "eve", 3, 600)])
    people, _ = choose(lake, FollowRule(accounts=("ann", "Bob", "nobody")), WINDOW)
    assert people["name"].to_list() == ["ANN", "BOB", "nobody"]
    assert set(people["why"]) == {"named in LDG_FOLLOW_ACCOUNTS"}


def test_an_organization_is_followed_with_those_who_act_on_it_most(lake: Lake) -> None:
    often = [("ann", "org", day, 600) for day in range(5)] + [("bob", "Org", day, 600) for day in range(3)]
    store(lake, [*often, ("cid", "Org", 9, 600), ("dot", "ann", 1, 600), ("renovate[bot]", "org", 2, 600)])
    people, _ = choose(lake, FollowRule(organizations=("ORG",), nodes=3), WINDOW)
    assert people["name"].to_list() == ["ann", "bob", "Org"]
    assert people["why"].to_list()[0] == "acted on these organizations on 5 days"


def test_too_few_to_follow_is_said_with_what_to_do(lake: Lake) -> None:
    store(lake, [("ann", "bob", 1, 600)])
    with pytest.raises(ValueError, match=r"2 accounts to follow .* \(LDG_FOLLOW_DAYS\)"):
        choose(lake, FollowRule(), WINDOW)
    with pytest.raises(FileNotFoundError, match="bring these days first"):
        choose(lake, FollowRule(), Window(date(2025, 1, 1), date(2025, 1, 9)))

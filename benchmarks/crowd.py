"""A crowd: a stream as heavy-tailed as a day of the archive, of any size, for measuring what size costs.

    python -m benchmarks.crowd FOLDER --nodes 100000 --events 10000000

Few nodes act most of the time; two thirds of the events repeat one of the actor's last partners or answer one
who acted on her, others go to a partner's partner, the rest to anybody, the active ones first. Writes the
event table as any dataset's; `crowd_stream` is the same without files.
"""

import argparse
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numba import njit

from model.stream import ASSOCIATION, COMMUNICATION, Stream
from pipeline.event_table import Split, build_event_table, write_event_table

START = datetime(2026, 1, 1)
DAYS = 90
REMEMBERED = 16  # last partners of a node
TYPES = ("IssueCommentEvent", "PushEvent", "PullRequestEvent", "IssuesEvent", "WatchEvent", "ForkEvent")
TYPE_SHARES = (0.3, 0.25, 0.18, 0.12, 0.1, 0.05)


@dataclass(frozen=True)
class Crowd:
    """The events of a crowd in order."""

    nodes: int
    u: np.ndarray  # (T) int64
    v: np.ndarray  # (T) int64
    k: np.ndarray  # (T) int64
    seconds: np.ndarray  # (T) float64, since the first event


def crowd(nodes: int, events: int, seed: int = 0) -> Crowd:
    """A crowd of `nodes` that interact `events` times in ninety days."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / (10.0 + rng.permutation(nodes)) ** 0.9
    cumulated = np.cumsum(weights / weights.sum())
    actors, anybody = (np.searchsorted(cumulated, rng.random(events)).clip(max=nodes - 1) for _ in range(2))
    u, v, is_new = interactions(nodes, actors, anybody, rng.random(events), rng.random((events, 2)))
    hours = (np.arange(DAYS * 24) % 24 - 15) / 24 * 2 * np.pi
    rates = np.cumsum(1 + 0.6 * np.cos(hours))  # three in the afternoon is the busiest hour
    at = np.sort(rng.random(events)) * rates[-1]
    seconds = np.interp(at, np.concatenate([[0], rates]), np.arange(DAYS * 24 + 1) * 3600.0)
    follows = is_new & (rng.random(events) < 0.2)
    return Crowd(nodes, u, v, np.where(follows, ASSOCIATION, COMMUNICATION), np.floor(seconds - seconds[0]))


@njit(cache=True)
def interactions(
    nodes: int, actors: np.ndarray, anybody: np.ndarray, which: np.ndarray, chance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Source and target of every event, and whether the two were not among each other's last partners."""
    events = len(actors)
    last = np.zeros((nodes, REMEMBERED), np.int32)  # partners, in either role
    count = np.zeros(nodes, np.int64)
    u, v, is_new = np.empty(events, np.int64), np.empty(events, np.int64), np.zeros(events, np.bool_)
    for event in range(events):
        a = actors[event]
        b = anybody[event]
        partners = min(count[a], REMEMBERED)
        if partners and which[event] < 0.85:
            near = last[a, int(chance[event, 0] ** 2 * partners)]  # the latest ones most often
            if which[event] < 0.67:
                b = near
            else:
                b = last[near, int(chance[event, 1] * min(count[near], REMEMBERED))]
        if b == a:
            b = (a + 1) % nodes
        u[event], v[event] = a, b
        seen = False
        for one, other in ((a, b), (b, a)):
            slot = min(count[one], REMEMBERED - 1)
            for at in range(min(count[one], REMEMBERED)):
                if last[one, at] == other:
                    slot, seen = at, True
                    break
            else:
                count[one] += 1
            for at in range(slot, 0, -1):
                last[one, at] = last[one, at - 1]
            last[one, 0] = other
        is_new[event] = not seen
    return u, v, is_new


def crowd_stream(nodes: int, events: int, seed: int = 0) -> Stream:
    """A crowd as a model sees it: the last tenth is the test period, the tenth before validates."""
    drawn = crowd(nodes, events, seed)
    return Stream(
        name=f"crowd_{nodes}",
        fingerprint=f"crowd-{nodes}-{events}-{seed}",
        nodes=nodes,
        u=drawn.u,
        v=drawn.v,
        k=drawn.k,
        seconds=drawn.seconds,
        start=START,
        idx=np.arange(events),
        splits=(events * 8 // 10, events * 9 // 10),
        associations=np.empty((0, 2), np.int64),
        features=None,
    )


def write_crowd(folder: Path, nodes: int, events: int, seed: int = 0) -> None:
    """A crowd as an event table in `folder`."""
    drawn = crowd(nodes, events, seed)
    rng = np.random.default_rng([seed, 1])
    names = pl.Series([f"node {number}" for number in range(nodes)])
    types = pl.Series(TYPES)[rng.choice(len(TYPES), events, p=TYPE_SHARES)]
    is_association = pl.Series(drawn.k == ASSOCIATION)
    rows = pl.DataFrame(
        {
            "source": names[drawn.u],
            "target": names[drawn.v],
            "type": types,
            "created_at": START + pl.Series((drawn.seconds * 1e6).astype(np.int64)).cast(pl.Duration("us")),
        }
    ).with_columns(
        type=pl.when(is_association).then(pl.lit("FollowEvent")).otherwise("type"),
        kind=pl.when(is_association).then(pl.lit("association")).otherwise(pl.lit("communication")),
    )
    table = build_event_table(
        name=folder.name,
        title="A crowd",
        description=f"{nodes:,} nodes that interact {events:,} times.",
        rows=rows,
        node_names=names.to_list(),
        split=Split(START + timedelta(days=DAYS * 0.9)),
        own_relations=("Follow",),
    )
    write_event_table(table, folder)


def main() -> None:
    """Write a crowd."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the event table: HOME/datasets/NAME")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write_crowd(arguments.folder, arguments.nodes, arguments.events, arguments.seed)


if __name__ == "__main__":
    main()

"""A lane: one model of one choice of people, from its training through every later day.

A chain of digests records dependencies: the training depends on the people, their events and the settings,
each day on the previous day and its own events. A snapshot is valid while its digest equals the day's, so
late data is handled by replaying from the last valid snapshot.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import polars as pl

from model.checkpoint import CheckpointError, read_tensors, write_tensors
from model.following.rem import RemFamily, RemFollower
from pipeline.following.chance import Chance
from pipeline.following.digest import digest_of
from pipeline.following.events import FollowedDays
from pipeline.following.files import FollowingFiles
from pipeline.following.outlook import Block, Outlook
from pipeline.following.rule import FOLLOWING, JUDGED_DAYS
from pipeline.following.scores import Given, happened, listed_ranks, pair_scores, scored_communications
from pipeline.following.window import DAY, Window, end_of
from pipeline.lake import Lake, read_parquet, write_json, write_parquet
from pipeline.results.metrics import mid_ranks
from pipeline.results.pairs import Pairs
from pipeline.runs import commit

Log = Callable[[str], None]
VERSION = 2  # of the daily update: raise it when the same events would give another model
MOST_RANKED = 2_000  # most communications ranked per day, spread evenly


@dataclass
class Model:
    """A follower at the end of a day, and the calibration of its forecasts."""

    day: date
    follower: RemFollower
    chance: Chance
    latest: tuple[np.ndarray, Outlook] | None = None  # cache: pair keys and their outlook

    def outlook(self, came: Pairs | None = None) -> Outlook:
        """Return log λ of every ordered pair at the day's end; a large network includes each of `came`."""
        keys = self.chance.pairs.keys[:0] if came is None else came.keys
        if self.latest is None or not (self.latest[1].is_whole or np.array_equal(self.latest[0], keys)):
            self.latest = None  # free the old one first, to hold only one in memory
            also = Pairs(self.chance.pairs.nodes, np.union1d(self.chance.pairs.keys, keys))
            self.latest = keys, self.follower.outlook(end_of(self.day), also)
        return self.latest[1]

    def hazards(self, came: Pairs | None = None) -> Iterator[tuple[Block, np.ndarray]]:
        """Yield the expected events of the next day, block by block of the outlook: (B, W) each."""
        for block in self.outlook(came).blocks():
            yield block, self.chance.hazard(block, self.day + DAY)

    def pair_scores(self, came: Pairs) -> dict[str, float]:
        """Return log and Brier score of the next day's probabilities; `came` are the pairs that occurred."""
        true = np.ones(len(came.keys), bool)
        return pair_scores(
            Given(-np.expm1(-hazard[stands]), block.values(came, true)[stands], block.weight[stands])
            for block, hazard in self.hazards(came)
            for stands in (block.weight > 0,)
        )

    def ranks(self, u: np.ndarray, v: np.ndarray, came: Pairs) -> np.ndarray:
        """Rank v among all targets of u, and u among all actors on v, as forecast: (E, 2)."""
        outlook = self.outlook(came)
        if outlook.is_whole:
            return listed_ranks(np.concatenate([hazard for _, hazard in self.hazards(came)]), u, v)
        usual, day = self.chance.partners(outlook), self.day + DAY

        def rank(truth: int, node: int, *, acts: bool) -> float:
            logs = self.follower.intensities(node, end_of(self.day), acts=acts)
            hazard = self.chance.hazard_with_everyone(outlook, usual, logs, node, day, acts=acts)
            return mid_ranks(hazard[None], np.array([truth]), np.array([node])).item()

        both = zip(u.tolist(), v.tolist(), strict=True)
        ranks = [(rank(v, u, acts=True), rank(u, v, acts=False)) for u, v in both]
        return np.array(ranks).reshape(-1, 2)


class Lane:
    """The model `variant` of the people of `days`; each day is computed on demand and stored."""

    def __init__(self, days: FollowedDays, variant: str, family: RemFamily, log: Log | None = None) -> None:
        self.days, self.variant, self.family, self.log = days, variant, family, log
        self.lake, self.choice = days.lake, days.choice
        self.files = FollowingFiles.of(self.lake)
        self.model: Model | None = None
        self.digests: dict[date, str] = {}

    @property
    def trained_until(self) -> date:
        """Last day of the training data; the rest of the window chooses the epoch, then is learned daily."""
        return self.choice.chosen_on - JUDGED_DAYS * DAY

    def digest(self, day: date) -> str:
        """Return the digest of everything that the model at the end of a day depends on."""
        if not self.digests:
            _, events = self.days.between(self.choice.window.first, self.choice.chosen_on)
            training = [VERSION, self.variant, self.family.identity(), self.choice.digest, events]
            self.digests[self.trained_until] = digest_of(training)
        latest = max(self.digests)
        for further in Window(latest + DAY, day) if day > latest else ():
            self.digests[further] = digest_of([self.digests[further - DAY], self.days.of(further)[1]])
        return self.digests[max(day, self.trained_until)]

    def ranks(self, day: date) -> pl.DataFrame:
        """Return the online ranks of a day's communications, from just before the model learned from them."""
        if not self.holds(day):
            self.at(day)
        return read_parquet(self.folder(day) / "ranks.parquet")

    def at(self, day: date) -> Model:
        """Return the model at the end of a day: from memory, a snapshot, or by learning further days."""
        if self.model is not None and self.model.day == day and self.holds(day):
            return self.model
        start = day
        while start > self.trained_until and not self.holds(start):
            start -= DAY
        if self.model is None or self.model.day != start:
            self.model = self.load(start) if self.holds(start) else self.train()
        for following in Window(start + DAY, day) if start < day else ():
            self.model = self.learn_on(self.model, following)
        return self.model

    def holds(self, day: date) -> bool:
        """Return whether a valid snapshot of the day exists."""
        try:
            return json.loads((self.folder(day) / "made.json").read_bytes())["digest"] == self.digest(day)
        except (FileNotFoundError, ValueError, KeyError):
            return False

    def folder(self, day: date) -> Path:
        """Return the folder of a day's snapshot."""
        return self.files.snapshot(self.variant, self.choice.chosen_on, day)

    def load(self, day: date) -> Model:
        """Load the model of a snapshot; a damaged snapshot is deleted and computed again."""
        folder = self.folder(day)
        try:
            follower, _ = self.family.load(folder / "model.safetensors")
            tensors, _ = read_tensors(folder / "chance.safetensors")
        except CheckpointError:
            shutil.rmtree(folder, ignore_errors=True)
            return self.at(day)
        return Model(day, follower, Chance.from_arrays({name: t.numpy() for name, t in tensors.items()}))

    def store(self, model: Model, ranks: pl.DataFrame | None = None) -> None:
        """Write a snapshot; the file that makes it valid comes last."""
        import torch

        folder = self.folder(model.day)
        made = folder / "made.json"
        made.unlink(missing_ok=True)
        if ranks is not None:
            write_parquet(ranks, folder / "ranks.parquet")
        arrays = {name: torch.from_numpy(np.atleast_1d(a)) for name, a in model.chance.arrays().items()}
        write_tensors(arrays, {}, folder / "chance.safetensors")
        model.follower.save(folder / "model.safetensors", {})
        write_json({"digest": self.digest(model.day)}, made)

    def train(self) -> Model:
        """Train from the window's start; the last seven days choose the epoch."""
        window, nodes = self.choice.window, len(self.choice.names)
        past, _ = self.days.between(window.first, self.trained_until)
        judged, _ = self.days.between(self.trained_until + DAY, window.last)
        if self.log is not None:
            self.log(
                f"{self.variant}: trains on {past.height:,} events among {nodes:,} people "
                f"from {window.first} to {self.trained_until}"
            )
        follower, facts = self.family.train(window, nodes, past, judged, self.log)
        chance = Chance.new(nodes)
        for day in Window(window.first, self.trained_until):
            chance.remember(happened(self.days.of(day)[0], nodes))
        model = Model(self.trained_until, follower, chance)
        self.store(model)
        settings = self.family.identity() | {
            "window": [str(window.first), str(window.last)],
            "nodes": nodes,
            "events": past.height,
            "epochs_measured": facts["epochs"],
            "mar": facts["mar"],
        }
        row = {
            "dataset": FOLLOWING,
            "variant": self.family.variant.name,
            "interaction": self.family.variant.interaction,
            "current": True,
            "seeds": [0],
            "chosen_epochs": [facts["chosen_epoch"]],
            "stopped_seeds": [],
            "parameters": facts["parameters"],
            "settings": json.dumps(settings),
            "seconds": facts["seconds"],
            "commit": commit(),
            "finished_at": datetime.now(UTC).replace(tzinfo=None, microsecond=0).isoformat(),
            "fingerprint": self.digest(self.trained_until),
            "folder": self.files.lane(self.variant, self.choice.chosen_on)
            .relative_to(self.lake.home)
            .as_posix(),
        }
        write_json(row, self.files.training(self.variant, self.choice.chosen_on))
        return self.load(self.trained_until)

    def learn_on(self, model: Model, day: date) -> Model:
        """Advance one day: rank with fixed weights, learn, update the calibration, and store a snapshot."""
        events, _ = self.days.of(day)
        nodes = len(self.choice.names)
        came = happened(events, nodes)
        expected = model.outlook(came)
        ranks = model.follower.rank(events, scored_communications(events, MOST_RANKED, nodes))
        model.follower.learn(events, day)
        model.chance.observe(expected, day, came)
        self.store(Model(day, model.follower, model.chance), ranks)
        return self.load(day)  # as another process would: the last bits depend on memory alignment


def prune(lake: Lake, oldest: date) -> None:
    """Delete the snapshots of days before `oldest`, which late data cannot reach."""
    for folder in (lake.following / "models").glob("*/*/????-??-??"):
        if date.fromisoformat(folder.name) < oldest:
            shutil.rmtree(folder, ignore_errors=True)

"""An event table as arrays: the stream of events, the initial associations and the node features."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from pipeline.event_table import read_event_table, split_by_time
from pipeline.names import ASSOCIATION_KIND, COMMUNICATION_KIND, INITIAL, TEST, TRAIN

ASSOCIATION, COMMUNICATION = 0, 1


@dataclass(frozen=True)
class Stream:
    """All events of a dataset in order, with the information available before the first event.

    `splits` holds the start positions of validation and test: events `[0, splits[0])` train the model, events
    `[splits[0], splits[1])` validate it.
    """

    name: str
    fingerprint: str
    nodes: int
    u: np.ndarray  # (T) int64
    v: np.ndarray  # (T) int64
    k: np.ndarray  # (T) int64, 0 association, 1 communication
    seconds: np.ndarray  # (T) float64, since the first event
    start: datetime
    idx: np.ndarray  # (T) int64, idx in events.parquet; −1 for an association event of another relation
    splits: tuple[int, int]
    associations: np.ndarray  # (M, 2) int64, u < v: pairs associated before the first event
    features: np.ndarray | None  # (N, F) float32

    def __post_init__(self) -> None:
        if self.nodes < 3:
            raise ValueError(
                f"nodes takes 3 or more (events of {self.name!r} name {self.nodes}): nothing to rank"
            )
        for argument, ends in (("u", self.u), ("v", self.v)):
            if len(ends) and not (ends.min() >= 0 and ends.max() < self.nodes):
                raise ValueError(f"{argument} takes nodes 0…{self.nodes - 1} in stream {self.name!r}")
        if (self.u == self.v).any():
            raise ValueError(
                f"stream {self.name!r} holds an event of a node with itself (u takes a node other than v)"
            )
        pairs = self.associations
        if (
            pairs.shape != (len(pairs), 2)
            or (pairs[:, 0] >= pairs[:, 1]).any()
            or (pairs >= self.nodes).any()
        ):
            raise ValueError(
                f"associations takes pairs u < v of nodes 0…{self.nodes - 1} in stream {self.name!r}"
            )
        if (np.diff(self.seconds) < 0).any():
            raise ValueError(f"seconds must not decrease in stream {self.name!r}")
        if len(self) and not 0 < self.splits[0] <= self.splits[1] <= len(self):
            raise ValueError(f"splits takes 0 < validation ≤ test ≤ {len(self)}, not {self.splits}")

    def __len__(self) -> int:
        return len(self.u)

    def moment(self, position: int) -> datetime:
        """Return the time of the event before `position`."""
        return self.start + timedelta(seconds=float(self.seconds[position - 1]))


def load_stream(folder: Path, relation: str | None = None) -> Stream:
    """Load the stream of the event table in `folder`; raise ValueError for an unknown `relation`.

    The association graph and association events of another `relation` replace the dataset's own;
    communications are unchanged.
    """
    table = read_event_table(folder)
    relations = table.metadata["relations"]
    if relation is not None and relation not in relations:
        raise ValueError(f"relation takes one of {', '.join(relations)} in {table.name!r}, not {relation!r}")
    own = table.metadata.get("own_relations", relations[:1])
    events = table.events.select("idx", "u", "v", "kind", "created_at", "split")
    if relation is not None and own != [relation]:
        events = with_associations_of(relation, events, table.association_events, table.metadata["split"])
        own = [relation]
    nodes = table.nodes.height
    entries = table.associations.filter(pl.col("relation").is_in(own) & (pl.col("snapshot") == INITIAL))
    microseconds = events["created_at"].dt.epoch("us").to_numpy()
    split = events["split"]
    has_features = nodes and table.nodes["features"].null_count() == 0
    return Stream(
        name=table.name,
        fingerprint=table.metadata["fingerprint"],
        nodes=nodes,
        u=events["u"].to_numpy().astype(np.int64),
        v=events["v"].to_numpy().astype(np.int64),
        k=(events["kind"] == COMMUNICATION_KIND).to_numpy().astype(np.int64),
        seconds=(microseconds - microseconds[0]) / 1e6,
        start=events["created_at"][0],
        idx=events["idx"].to_numpy().astype(np.int64),
        splits=(int((split == TRAIN).sum()), int((split != TEST).sum())),
        associations=undirected_pairs(entries.select("u", "v").to_numpy()),
        features=np.array(table.nodes["features"].to_list(), dtype=np.float32) if has_features else None,
    )


def undirected_pairs(entries: np.ndarray) -> np.ndarray:
    """Return the distinct pairs of directed entries (E, 2), sorted, without self-loops: (M, 2), u < v."""
    pairs = np.sort(entries.astype(np.int64), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def with_associations_of(
    relation: str, events: pl.DataFrame, association_events: pl.DataFrame, split: dict[str, str]
) -> pl.DataFrame:
    """Replace the association events by those of `relation`; at equal times they come last."""
    boundaries = (datetime.fromisoformat(split[name]) for name in ("validation_start", "test_start"))
    others = association_events.filter(pl.col("relation") == relation).select(
        pl.lit(-1, dtype=pl.Int64).alias("idx"),
        "u",
        "v",
        pl.lit(ASSOCIATION_KIND).alias("kind"),
        "created_at",
        split_by_time(*boundaries).alias("split"),
    )
    communications = events.filter(pl.col("kind") == COMMUNICATION_KIND)
    return pl.concat([communications, others]).sort("created_at", maintain_order=True)

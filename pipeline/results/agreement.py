"""Agreement of the learned graph with known graphs: AUC and average precision over ordered pairs of nodes.

The model's edge types are unlabelled. The paper shows one of them; here `picked` marks, per seed, the edge
type whose attention at the end of training has the highest AUC with the final graph of the dataset's first
own relation (CloseFriend, Follow), and that type is compared with every other graph. This choice uses the
ground truth, so the rows of all edge types and of their sum (`edge_type` null) are stored as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from pipeline.event_table import EventTable, dataset_names, read_event_table
from pipeline.lake import Lake, read_parquet, scan_parquet
from pipeline.names import COMMUNICATION_FREQUENCY, COMMUNICATION_KIND, FINAL, FREQUENCY, PLANTED, SNAPSHOTS
from pipeline.results.pairs import pair_keys, pair_list, training_events
from pipeline.results.stored import stacked, write_results
from pipeline.results.trained import TrainedVariant, current_variants
from pipeline.schemas import ATTENTION_AUC


@dataclass(frozen=True)
class Ranking:
    """Scores of all ordered pairs of different nodes, grouped by value in descending order.

    `pairs` (P,) holds the scored pairs as u·N + v, sorted, then one sentinel for all other pairs, which score
    zero. `group` (P,) is the group index of each entry, `sizes` (G,) the number of pairs per group.
    """

    pairs: np.ndarray
    group: np.ndarray
    sizes: np.ndarray

    def agreement(self, graph: np.ndarray) -> tuple[float, float]:
        """Return AUC and average precision against a graph given as distinct pairs u·N + v, u ≠ v.

        Ties count as in scikit-learn: half in the AUC, together in the average precision.
        """
        at = np.searchsorted(self.pairs, graph)
        groups = np.where(self.pairs[at] == graph, self.group[at], self.group[-1])
        positive = np.bincount(groups, minlength=len(self.sizes))  # (G,)
        negative = self.sizes - positive
        above = np.cumsum(positive)  # positives at or above each group
        auc = (negative * (above - positive / 2)).sum() / (len(graph) * negative.sum())
        # The zero-score group may be empty and come first.
        precision = above / np.maximum(np.cumsum(self.sizes), 1)
        return float(auc), float((positive * precision).sum() / len(graph))


def ranking(pairs: np.ndarray, scores: np.ndarray, nodes: int) -> Ranking:
    """Group distinct pairs (u·N + v, u ≠ v) by their scores; pairs not given score zero."""
    order = np.argsort(pairs)
    scores = np.append(scores[order], 0.0)  # (P,)
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    sizes[group[-1]] += nodes * (nodes - 1) - len(scores)
    return Ranking(np.append(pairs[order], nodes * nodes), group, sizes)


def known_graphs(lake: Lake, dataset: str, table: EventTable) -> dict[tuple[str, str], np.ndarray]:
    """Return the off-diagonal pairs u·N + v of every known graph, by relation and snapshot.

    Includes the `planted` ground-truth graph if the home has one for the dataset.
    """
    n = table.nodes.height
    graphs = {
        (str(relation), str(snapshot)): edges
        for (relation, snapshot), edges in table.associations.group_by("relation", "snapshot")
    }
    if lake.known_graph(dataset).exists():
        ids = table.nodes.select("name", "node")
        planted = read_parquet(lake.known_graph(dataset)).select("source", "target")
        graphs[PLANTED, FINAL] = planted.join(ids.rename({"name": "source", "node": "u"}), on="source").join(
            ids.rename({"name": "target", "node": "v"}), on="target"
        )
    pairs = {name: edge_keys(edges, n) for name, edges in graphs.items()}
    # AUC is undefined for a graph without edges or with all of them.
    return {name: edges for name, edges in sorted(pairs.items()) if 0 < len(edges) < n * (n - 1)}


def edge_keys(edges: pl.DataFrame, nodes: int) -> np.ndarray:
    """Return the distinct off-diagonal edges of a graph as u·N + v, sorted."""
    edges = edges.filter(pl.col("u") != pl.col("v"))
    return np.unique(pair_keys(edges["u"].to_numpy(), edges["v"].to_numpy(), nodes))


def attention_rankings(attention: pl.LazyFrame, nodes: int) -> Iterator[tuple[int, str, int | None, Ranking]]:
    """Yield seed, label, edge type and ranking of each attention graph in the first and last snapshot.

    Edge type None is the sum over all edge types.
    """
    ends = attention.filter(pl.col("label").is_in(SNAPSHOTS), pl.col("u") != pl.col("v")).collect()
    for (seed, label), rows in ends.group_by("seed", "label", maintain_order=True):
        assert isinstance(seed, int)
        total = rows.group_by("u", "v").agg(pl.col("weight").cast(pl.Float64).sum())
        yield seed, str(label), None, weight_ranking(total, nodes)
        for (edge_type,), of_type in rows.group_by("edge_type", maintain_order=True):
            assert isinstance(edge_type, int)
            yield seed, str(label), edge_type, weight_ranking(of_type, nodes)


def weight_ranking(entries: pl.DataFrame, nodes: int) -> Ranking:
    """Rank distinct off-diagonal entries (u, v) by their `weight`."""
    pairs = pair_keys(entries["u"].to_numpy(), entries["v"].to_numpy(), nodes)
    return ranking(pairs, entries["weight"].to_numpy(), nodes)


def variant_agreement(
    trained: TrainedVariant, table: EventTable, graphs: dict[tuple[str, str], np.ndarray]
) -> pl.DataFrame:
    """Return the `attention_auc` rows of one trained variant; empty if it has no attention (GCN, GAT)."""
    attention, nodes = scan_parquet(trained.path("attention")), table.nodes.height
    rows = [
        (seed, edge_type, relation, snapshot, *ranks.agreement(graph), label, len(graph))
        for seed, label, edge_type, ranks in attention_rankings(attention, nodes)
        for (relation, snapshot), graph in graphs.items()
    ]
    measured = ("seed", "edge_type", "relation", "snapshot", "auc", "average_precision", "attention", "pairs")
    schema = {column: ATTENTION_AUC.types[column] for column in measured}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return trained.named(with_pick(frame, table.metadata["own_relations"][0]), ATTENTION_AUC)


def with_pick(rows: pl.DataFrame, relation: str) -> pl.DataFrame:
    """Add `picked`, which marks the edge type that represents each seed."""
    best = (
        rows.filter(
            pl.col("relation") == relation,
            pl.col("snapshot") == FINAL,
            pl.col("attention") == FINAL,
            pl.col("edge_type").is_not_null(),
        )
        .sort("auc", "edge_type", descending=[True, False])
        .unique("seed", keep="first", maintain_order=True)
        .select("seed", best="edge_type")
    )
    picked = (pl.col("edge_type") == pl.col("best")).fill_null(value=False)
    return rows.join(best, on="seed", how="left", maintain_order="left").with_columns(picked=picked)


def frequency_agreement(
    table: EventTable, dataset: str, graphs: dict[tuple[str, str], np.ndarray]
) -> pl.DataFrame:
    """Return the same rows for the baselines: pairs ranked by their number of training events.

    Variant `frequency` counts events of both kinds, as the models see them; `communication_frequency`
    excludes association events, which are the edges added to the final graph.
    """
    n = table.nodes.height
    counted = {
        FREQUENCY: training_events(table),
        COMMUNICATION_FREQUENCY: training_events(table, COMMUNICATION_KIND),
    }
    rows = []
    for variant, events in counted.items():
        u, v, many = (column.to_numpy() for column in pair_list(events))
        pairs = np.concatenate([pair_keys(u, v, n), pair_keys(v, u, n)])
        ranks = ranking(pairs, np.tile(many.astype(np.float64), 2), n)
        rows += [
            {
                "dataset": dataset,
                "variant": variant,
                "relation": relation,
                "snapshot": snapshot,
                "auc": auc,
                "average_precision": precision,
                "attention": FINAL,
                "picked": True,
                "pairs": len(graph),
                "as_of": table.as_of,
                "fingerprint": table.metadata["fingerprint"],
            }
            for (relation, snapshot), graph in graphs.items()
            for auc, precision in [ranks.agreement(graph)]
        ]
    return pl.DataFrame(rows, schema=ATTENTION_AUC.stored().types)


def attention_auc(lake: Lake) -> pl.DataFrame:
    """Return the table `attention_auc` of all trained variants and the frequency baselines."""
    parts = []
    for dataset in dataset_names(lake):
        table = read_event_table(lake.dataset(dataset))
        graphs = known_graphs(lake, dataset, table)
        parts.append(frequency_agreement(table, dataset, graphs))
        parts += [variant_agreement(trained, table, graphs) for trained in current_variants(lake, dataset)]
    return stacked(parts, ATTENTION_AUC)


def write_attention_auc(lake: Lake) -> dict[str, int]:
    """Write `results/attention_auc.parquet` and return its row count by table name."""
    return write_results(lake, {ATTENTION_AUC.name: attention_auc(lake)})

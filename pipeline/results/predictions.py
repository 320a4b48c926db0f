"""Stored predictions of all current trainings, with names and reasons."""

import polars as pl

from pipeline.event_table import dataset_names
from pipeline.lake import Lake, read_parquet
from pipeline.results.trained import TrainedVariant, current_variants, with_records
from pipeline.schemas import NAMED_PREDICTIONS, REASONS


def predictions(lake: Lake) -> pl.DataFrame:
    """Return the table `predictions`: every node's likeliest next partners, by every current training."""
    parts = [pl.DataFrame(schema=NAMED_PREDICTIONS.types)]
    for dataset in dataset_names(lake):
        names = read_parquet(lake.dataset(dataset) / "nodes.parquet").select("node", "name")
        partners = names.rename({"node": "partner", "name": "partner_name"})
        for trained in with_records(current_variants(lake, dataset), "predictions"):
            rows = with_reasons(trained).join(names, on="node").join(partners, on="partner")
            named = rows.with_columns(
                dataset=pl.lit(dataset),
                variant=pl.lit(trained.variant),
                interaction=pl.lit(trained.interaction),
            )
            parts.append(NAMED_PREDICTIONS.cast(named.sort("node", "rank")))
    return pl.concat(parts)


def with_reasons(trained: TrainedVariant) -> pl.DataFrame:
    """Return the first seed's predictions by node and rank, with `probability`, `reasons` and `edge_type`.

    The three columns are null for a model without reasons; otherwise `probability` is the model's density.
    """
    rows = trained.of_first_seed("predictions").sort("node", "rank")
    if not trained.has_rows(REASONS.name):
        absent = {"probability": pl.Float64, "reasons": pl.String, "edge_type": pl.Int32}
        return rows.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in absent.items())
    reasons = trained.read(REASONS.name)
    if "edge_type" not in reasons.columns:  # written by an earlier version
        reasons = reasons.with_columns(edge_type=pl.lit(None, pl.Int32))
    explained = rows.join(reasons, on=["seed", "node", "partner"], how="left", maintain_order="left")
    return explained.rename({"why": "reasons"}).with_columns(probability=pl.col("density"))


def along(why: str, edge_type: int | None) -> str:
    """Append the edge type to a reason, if there is one."""
    return why if edge_type is None else f"{why}; along edge type {edge_type}"

"""The cost of choosing the epoch on validation, compared with the epoch that test data would choose."""

from dataclasses import dataclass

import polars as pl

from pipeline.names import MAR
from pipeline.results.published import printed_beside_bounds
from pipeline.show.labels import NONE, mark
from pipeline.show.results_page.markdown import markdown_table
from pipeline.show.results_page.measured import Measured, of_model
from pipeline.show.tables import Row
from pipeline.variants import LDG_FREQUENCY, PAPER_INTERACTIONS


@dataclass(frozen=True)
class Hindsight:
    """Mean test MAR over seeds, of the chosen epoch and of the best one on test."""

    chosen: float
    best: float
    epochs: dict[int, int]  # number of seeds by chosen epoch

    @property
    def cost(self) -> float:
        """MAR lost by not choosing on test data."""
        return self.chosen - self.best


def hindsight(data: Measured, variant: str, how: str) -> Hindsight | None:
    """Compute the cost for one trained variant; None without a curve."""
    curves = of_model(data.curves, variant, how)
    if curves.is_empty():
        return None
    # Earlier epochs win ties, as in training.
    picked = curves.sort("seed", "mar", "epoch").unique("seed", keep="first", maintain_order=True)
    best = curves.sort("seed").group_by("seed", maintain_order=True).agg(pl.col("test_mar").min())
    return Hindsight(
        float(picked["test_mar"].to_numpy().mean()),
        float(best["test_mar"].to_numpy().mean()),
        dict(picked.group_by("epoch").len().sort("epoch").iter_rows()),
    )


def hindsight_section(data: Measured) -> str:
    """Return a row per model of Table 3, except + Freq, whose curves are those of its base model."""
    costs = [
        (row, how, cost)
        for row in data.printed_rows()
        if row["variant"] != LDG_FREQUENCY
        for how in PAPER_INTERACTIONS
        if (cost := hindsight(data, row["variant"], how)) is not None
    ]
    best = printed_beside_bounds(
        [(cost.best, row[f"{MAR.name}_{how}_bound"]) for row, how, cost in costs], MAR
    )
    rows = [hindsight_row(*cost, *judged) for cost, judged in zip(costs, best, strict=True)]
    headings = ["Model", "Interaction", "Epochs chosen", "MAR ↓, reported", "of the test-best epoch", "cost"]
    return markdown_table([*headings, "published", "test-best within bound"], rows, left=3)


def hindsight_row(
    row: Row, how: str, hindsight: Hindsight, best: str, best_reaches: bool | None
) -> list[str]:
    """Return one row: the reported values, then those of the test-best epoch, judged like a cell."""
    cell = f"{MAR.name}_{how}"
    return [
        row["model"],
        how,
        ", ".join(f"{epoch} ({seeds}×)" for epoch, seeds in hindsight.epochs.items()),
        row[cell] or NONE,
        best,
        f"{hindsight.cost:.{MAR.decimals}f}",
        row[f"{cell}_published"] or NONE,
        mark(best_reaches),
    ]

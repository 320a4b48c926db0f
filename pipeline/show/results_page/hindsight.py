"""What choosing the epoch on validation costs: the same runs with the epoch that test data would choose."""

from dataclasses import dataclass

import polars as pl

from pipeline.show.results_page.markdown import NONE, mark, number, table
from pipeline.show.results_page.measured import INTERACTIONS, Measured, Row, of_model


@dataclass(frozen=True)
class Hindsight:
    """Mean over seeds of test MAR after an epoch: of the epoch chosen, and of the best one."""

    chosen: float
    best: float
    epochs: dict[int, int]  # how many seeds chose which epoch

    @property
    def cost(self) -> float:
        """Ranks given away by not looking at test data."""
        return self.chosen - self.best


def hindsight(data: Measured, variant: str, how: str) -> Hindsight | None:
    """Of one trained variant; None where no curve is kept."""
    curves = of_model(data.curves, variant, how)
    if curves.is_empty():
        return None
    # Earlier epochs win ties, as in training.
    picked = curves.sort("seed", "mar", "epoch").unique("seed", keep="first", maintain_order=True)
    best = curves.group_by("seed").agg(pl.col("test_mar").min())
    return Hindsight(
        float(picked["test_mar"].to_numpy().mean()),
        float(best["test_mar"].to_numpy().mean()),
        dict(picked.group_by("epoch").len().sort("epoch").iter_rows()),
    )


def section(data: Measured) -> str:
    """A row a model of Table 3, except + Freq: its curves are those of the model it is made of."""
    rows = [
        line(row, how, found)
        for row in data.printed_rows()
        if not row["variant"].endswith("_freq")
        for how in INTERACTIONS
        if (found := hindsight(data, row["variant"], how)) is not None
    ]
    headings = ["Model", "Interaction", "Epochs chosen", "MAR ↓, reported", "of the test-best epoch", "cost"]
    return table([*headings, "published", "test-best within bound"], rows, left=3)


def line(row: Row, how: str, found: Hindsight) -> list[str]:
    """One row: what is reported, then what is never used."""
    published, std = row[f"mar_{how}_published_mean"], row[f"mar_{how}_published_std"]
    return [
        row["model"],
        how,
        ", ".join(f"{epoch} ({seeds}×)" for epoch, seeds in found.epochs.items()),
        row[f"mar_{how}"] or NONE,
        number(found.best, 1),
        f"{found.cost:.1f}",
        row[f"mar_{how}_published"] or NONE,
        mark(None if published is None else found.best <= published + std),
    ]

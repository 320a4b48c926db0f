"""The paper's figures for any dataset, drawn only from stored results."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.event_table import read_event_table
from pipeline.lake import Lake, write_json
from pipeline.results.trained import current_variants, showcase, trained_variants, with_records
from pipeline.show.figures.adjacency import adjacency_figure
from pipeline.show.figures.bars import baseline_bars
from pipeline.show.figures.curves import curves_figure
from pipeline.show.figures.embeddings import embeddings_figure
from pipeline.show.figures.reliability import reliability_diagram
from pipeline.show.figures.style import save_figure
from pipeline.show.figures.subgraphs import subgraphs_figure
from pipeline.show.part import part_of


@dataclass(frozen=True)
class DrawnFigure:
    """A drawn figure: its files, its title, and a description for readers who cannot see it."""

    name: str
    title: str
    description: str
    svg: Path
    png: Path


def draw_figures(lake: Lake, dataset: str) -> list[DrawnFigure]:
    """Draw every figure of a dataset as SVG and PNG under `figures/<dataset>/`, listed in its `figures.json`.

    Needs the event table and at least one finished variant, else raises FileNotFoundError. The bars appear
    once link predictions or baselines are measured. Variants trained on an earlier event table are skipped,
    and figures that no longer apply are deleted.
    """
    table = read_event_table(lake.dataset(dataset))
    if not trained_variants(lake, dataset):
        raise FileNotFoundError(
            f"no finished variant of {dataset!r} under {lake.models / dataset}: train one first"
        )
    trained, relations = current_variants(lake, dataset), table.metadata["relations"]
    attentive, embedded, curved = (
        with_records(trained, records) for records in ("attention", "embeddings", "curves")
    )
    folder, part = lake.figures / dataset, part_of(table)
    drawn = []
    figures = [
        curves_figure(curved, relations) if curved else None,
        adjacency_figure(part, showcase(attentive, relations)) if attentive else None,
        subgraphs_figure(part, showcase(attentive, relations)) if attentive else None,
        embeddings_figure(part, embedded) if embedded else None,
        baseline_bars(lake, table),
        reliability_diagram(lake, table),
    ]
    for figure in figures:
        if figure is not None:
            svg, png = save_figure(figure, folder, heading=table.title)
            drawn.append(DrawnFigure(figure.name, figure.title, figure.description, svg, png))
    keep = {path for figure in drawn for path in (figure.svg, figure.png)}
    for path in [*folder.glob("*.svg"), *folder.glob("*.png")]:
        if path not in keep:
            path.unlink()
    write_json(
        [{"name": one.name, "title": one.title, "description": one.description} for one in drawn],
        folder / "figures.json",
    )
    return drawn

"""The page's figures: drawn from stored results, without names of persons, as SVG beside the page."""

from pathlib import Path

from pipeline.event_table import read_event_table
from pipeline.lake import Lake, write_text
from pipeline.results.trained import current_variants, showcase, with_records
from pipeline.show.figures.adjacency import adjacency_figure
from pipeline.show.figures.curves import curves_figure
from pipeline.show.figures.style import Figure, drawn
from pipeline.show.part import part_of
from pipeline.show.results_page.agreement_lines import agreement_lines
from pipeline.show.results_page.measured import Measured
from pipeline.show.results_page.rank_dots import association_dots, table_3_dots
from pipeline.variant_names import BILINEAR, CONCAT, ldg_name
from pipeline.variants import DYREP, DYREP_WIDE, PRIORS

Shown = dict[str, dict[str, str]]  # Markdown by dataset and figure key
# Fig. 5: DyRep, bilinear DyRep, wide DyRep; and bilinear LDG on the learned sparse graph.
CURVES = {
    (DYREP, CONCAT),
    (DYREP, BILINEAR),
    (DYREP_WIDE, CONCAT),
    (ldg_name("learned", "sparse"), BILINEAR),
}


def write_page_figures(lake: Lake, datasets: list[Measured], folder: Path) -> Shown:
    """Draw every figure of the page into `folder` and delete all other SVGs there."""
    shown = {data.name: store_page_figures(draw_page_figures(lake, data), data, folder) for data in datasets}
    remove_other_figures(
        folder, {f"{name}_{shows}.svg" for name, drawings in shown.items() for shows in drawings}
    )
    return shown


def draw_page_figures(lake: Lake, data: Measured) -> dict[str, Figure]:
    """Draw every figure for which this dataset has results, by figure key."""
    table = read_event_table(lake.dataset(data.name))
    trained = current_variants(lake, data.name)
    curved = [one for one in with_records(trained, "curves") if (one.variant, one.interaction) in CURVES]
    graphs = {ldg_name("learned", prior) for prior in PRIORS}
    attentive = [one for one in with_records(trained, "attention") if one.variant in graphs]
    shown = showcase(attentive, data.relations) if attentive else None
    figures = {
        "ranks": table_3_dots(data),
        "curves": curves_figure(curved, data.relations) if curved else None,
        "associations": association_dots(data),
        "adjacency": adjacency_figure(part_of(table), shown) if shown else None,
        "agreement": agreement_lines(table, data, shown) if shown else None,
    }
    return {shows: figure for shows, figure in figures.items() if figure is not None}


def store_page_figures(figures: dict[str, Figure], data: Measured, folder: Path) -> dict[str, str]:
    """Write figures to `<folder>/<dataset>_<key>.svg` and return the Markdown that embeds each."""
    shown = {}
    for shows, figure in figures.items():
        path = folder / f"{data.name}_{shows}.svg"
        write_text(drawn(figure), path)
        alternative = figure.description.replace("[", "(").replace("]", ")")
        shown[shows] = f"![{alternative}]({folder.name}/{path.name})\n*{figure.title}*\n"
    return shown


def remove_other_figures(folder: Path, names: set[str]) -> None:
    """Delete SVGs whose names are not in `names`."""
    for path in folder.glob("*.svg"):
        if path.name not in names:
            path.unlink()

"""The page's figures: drawn from stored results, written as SVG beside the page, without anyone's name."""

from pathlib import Path

from pipeline.event_table import read_event_table
from pipeline.lake import Lake, write_text
from pipeline.results.trained import current_variants, showcase, with_records
from pipeline.show.figures.adjacency import adjacency
from pipeline.show.figures.curves import training_curves
from pipeline.show.figures.style import Figure, drawn
from pipeline.show.part import part_of
from pipeline.show.results_page.agreement_lines import agreement_lines
from pipeline.show.results_page.measured import Measured
from pipeline.show.results_page.rank_dots import association_dots, table_3_dots
from pipeline.variants import BILINEAR, CONCAT, DYREP, DYREP_WIDE, PRIORS, ldg

# Fig. 5: DyRep, bilinear DyRep, DyRep as wide; and bilinear LDG on the learned sparse graph.
CURVES = {
    (DYREP, CONCAT),
    (DYREP, BILINEAR),
    (DYREP_WIDE, CONCAT),
    (ldg("learned", "sparse"), BILINEAR),
}


def draw(lake: Lake, data: Measured) -> dict[str, Figure]:
    """Every figure that this dataset's results allow, by what it shows."""
    table = read_event_table(lake.dataset(data.name))
    trained = current_variants(lake, data.name)
    curved = [one for one in with_records(trained, "curves") if (one.variant, one.interaction) in CURVES]
    graphs = {ldg("learned", prior) for prior in PRIORS}
    attentive = [one for one in with_records(trained, "attention") if one.variant in graphs]
    shown = showcase(attentive, data.relations) if attentive else None
    figures = {
        "ranks": table_3_dots(data),
        "curves": training_curves(curved, data.relations) if curved else None,
        "associations": association_dots(data),
        "adjacency": adjacency(part_of(table), shown) if shown else None,
        "agreement": agreement_lines(table, data, shown) if shown else None,
    }
    return {shows: figure for shows, figure in figures.items() if figure is not None}


def store(figures: dict[str, Figure], data: Measured, folder: Path) -> dict[str, str]:
    """Write figures to `<folder>/<dataset>_<what it shows>.svg`; the Markdown that shows each."""
    shown = {}
    for shows, figure in figures.items():
        path = folder / f"{data.name}_{shows}.svg"
        write_text(drawn(figure), path)
        alternative = figure.description.replace("[", "(").replace("]", ")")
        shown[shows] = f"![{alternative}]({folder.name}/{path.name})\n*{figure.title}*\n"
    return shown


def remove_others(folder: Path, names: set[str]) -> None:
    """Take away figures of an earlier page that no longer apply."""
    for path in folder.glob("*.svg"):
        if path.name not in names:
            path.unlink()

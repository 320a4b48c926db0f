"""The page of the paper's results and its evidence, written from a home's results, never typed."""

from dataclasses import replace
from pathlib import Path

from pipeline.lake import Lake
from pipeline.runs import read_sessions
from pipeline.show.results_page.beyond import beyond_evidence, beyond_section, datasets_with_rem
from pipeline.show.results_page.figures import write_page_figures
from pipeline.show.results_page.measured import read_measured
from pipeline.show.results_page.paper_evidence import evidence_head, paper_evidence
from pipeline.show.results_page.paper_part import paper_text
from pipeline.show.results_page.parts import read_parts, write_parts
from pipeline.show.results_page.places import evidence_of


def write_results_page(lake: Lake, page: Path) -> None:
    """Write the page of results, its evidence beside it, and figures in a folder of its name.

    Both pages have two parts, on the paper's models and beyond them. A home that has trainings for one of
    them alone renews this part and leaves the other as it is, and a third, on following, always. The same
    results give the same bytes.
    """
    datasets = read_measured(lake)
    if not datasets:
        raise FileNotFoundError(f"no model is trained on {lake.home}: `ldg run` makes them")
    evidence = evidence_of(page)
    first, behind = read_parts(page), read_parts(evidence)
    if any(data.has_papers_models for data in datasets) or not first.papers:
        sessions, shown = read_sessions(lake), write_page_figures(lake, datasets, page.with_suffix(""))
        first = replace(first, papers=paper_text(datasets, sessions, evidence.name))
        behind = replace(behind, papers=paper_evidence(datasets, sessions, shown, page.name))
    if trained := datasets_with_rem(datasets):
        first = replace(first, beyond=beyond_section(trained, evidence.name))
        behind = replace(behind, beyond=beyond_evidence(trained))
    write_parts(first, page)
    write_parts(replace(behind, papers=behind.papers or evidence_head(page.name)), evidence)

"""The first part of the evidence page: the paper's models with every row, interval and figure."""

from pipeline.runs import Session
from pipeline.show.results_page.beyond_tables import (
    association_graph_section,
    learned_graph_section,
    never_seen_section,
    wider_models,
)
from pipeline.show.results_page.bounds import misses_section
from pipeline.show.results_page.circumstances import (
    completeness,
    machines_and_times,
    table_3_time,
    training_settings_table,
    training_times,
)
from pipeline.show.results_page.claims import claims_section
from pipeline.show.results_page.figures import Shown
from pipeline.show.results_page.hindsight import hindsight_section
from pipeline.show.results_page.markdown import markdown_of_printed
from pipeline.show.results_page.measured import Measured
from pipeline.show.results_page.parts import HEAD
from pipeline.show.tables import table_2


def paper_evidence(datasets: list[Measured], sessions: list[Session], shown: Shown, page: str) -> str:
    """Return the evidence for the paper's models: provenance, all rows, all differences, all figures."""
    titles = {data.name: data.title for data in datasets}
    parts = [
        evidence_head(page),
        "## How it was run\n",
        completeness(datasets),
        machines_and_times(sessions),
        table_3_time(datasets, sessions),
        training_settings_table(datasets),
        training_times(datasets),
        "## Table 2: the data\n",
        markdown_of_printed(table_2([row for data in datasets for row in data.table_2], titles)),
        nodes_note(datasets),
        *(part for data in datasets for part in table_3_in_full(data, shown[data.name])),
        *(part for data in datasets for part in table_4_in_full(data)),
        *(part for data in datasets for part in learned_graph_section(data, shown[data.name])),
        "## Claims\n",
        CLAIMS_NOTE,
        claims_section(datasets),
        "## Fig. 5: bilinear against wider concat\n",
        wider_models(datasets),
        *(shown[data.name].get("curves", "") for data in datasets),
        *(part for data in datasets for part in association_graph_section(data, shown[data.name])),
        *(part for data in datasets for part in never_seen_section(data)),
        "## What the choice of epoch costs\n",
        HINDSIGHT_NOTE,
        *(part for data in datasets for part in (f"### {data.title}\n", hindsight_section(data))),
        "## Cells that miss their bound\n",
        misses_section(datasets),
    ]
    return "\n".join(part for part in parts if part)


def evidence_head(page: str) -> str:
    """Return the head of the evidence page."""
    return "\n".join(
        (
            HEAD,
            "# Evidence for the paper's results\n",
            f"What stands behind [the page of results]({page}).\n",
        )
    )


CLAIMS_NOTE = (
    "Each row compares two of our own models, or a model and a predictor that learns nothing, seed by seed "
    "on the same test events, with a 95 % t interval of the mean difference. A claim *holds* when every "
    "row's interval speaks for it (where all must, no correction is needed), *does not hold* when a row is "
    "decided against it by Holm's correction over its rows, and is *undecided* otherwise.\n"
)


HINDSIGHT_NOTE = (
    "The epoch is chosen on validation data, seed by seed. Below, for comparison only and **never used** for "
    "any other number, is test MAR after the epoch that is best on test data, and what not looking at it "
    "costs.\n"
)


def nodes_note(datasets: list[Measured]) -> str:
    """Explain a node count that differs from the published one; empty if none does."""
    differing = [
        data.title
        for data in datasets
        for row in data.table_2
        if row["statistic"] == "# nodes" and row["agrees"] is False
    ]
    return (
        f"The files of {', '.join(differing)} hold one subject more than the paper prints.\n"
        if differing
        else ""
    )


def table_3_in_full(data: Measured, shown: dict[str, str]) -> list[str]:
    """Return Table 3 of a dataset in full, with its figure."""
    return [f"## Table 3: {data.title}\n", shown.get("ranks", ""), markdown_of_printed(data.printed_3)]


def table_4_in_full(data: Measured) -> list[str]:
    """Return Table 4 of a dataset in full; empty without rows."""
    if not data.table_4:
        return []
    notes = [f"{note}\n" for note in data.printed_4.notes]
    return [f"## Table 4: {data.title}\n", markdown_of_printed(data.printed_4), *notes]

"""The report: one self-contained HTML page of datasets, results and an explorer of the latent graph."""

import base64
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.event_table import EventTable, dataset_names, read_event_table
from pipeline.lake import Lake, write_text
from pipeline.results.trained import TrainedVariant, trained_variants
from pipeline.show.labels import REACHED, count
from pipeline.show.report.explorer import explorer_data
from pipeline.show.report.following import following_page
from pipeline.show.tables import printed_tables, rows_of
from pipeline.text import printable_document


@dataclass(frozen=True)
class DatasetCard:
    """Texts about a dataset: description, split and size, and its trainings."""

    title: str
    description: str
    facts: dict[str, str]
    trained: list[str]


@dataclass(frozen=True)
class ShownFigure:
    """A drawn figure: its SVG in base64 (an SVG in an image runs no script), its title and description."""

    title: str
    description: str
    image: str


@dataclass(frozen=True)
class FigureSection:
    """The figures of a dataset."""

    title: str
    figures: list[ShownFigure]


def write_report(lake: Lake) -> Path:
    """Write `report/index.html` from the warehouse, the figures and the stored models, and return its path.

    The page makes no requests: styles, script, figures and data are embedded. Names from data appear only as
    text, and the page's content security policy admits no other script. Raises FileNotFoundError without a
    warehouse.
    """
    if not lake.warehouse.exists():
        raise FileNotFoundError(f"{lake.warehouse} is missing: build the warehouse before the report")
    tables = [read_event_table(lake.dataset(dataset)) for dataset in dataset_names(lake)]
    trained = {table.name: trained_variants(lake, table.name) for table in tables}
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        following = following_page(lake, warehouse)
        printed = printed_tables(warehouse)
        left_out = rows_of(warehouse, "select dataset, table_name, rows, reason from left_out order by all")
    page = templates().get_template("page.html")
    text = page.render(
        following=following,
        script=page_resource("explorer.js"),
        person_script=page_resource("person.js"),
        style=page_resource("style.css"),
        summary=report_summary(tables, trained),
        written=datetime.now(UTC),
        cards=[dataset_card(table, trained[table.name]) for table in tables],
        tables=printed,
        left_out=left_out,
        reached=REACHED,
        figures=[section for table in tables if (section := figure_section(lake, table)) is not None],
        explorer=explorer_data(lake, tables),
    )
    write_text(printable_document(text), lake.report)
    return lake.report


def templates() -> Environment:
    """Return the package's Jinja environment; values are escaped, and undefined names are errors."""
    environment = Environment(
        loader=PackageLoader("pipeline.show.report", "."), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["sha256"] = policy_hash
    # Keeps names readable and the page small.
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


def page_resource(name: str) -> Markup:
    """Read a file of this package for unescaped inclusion in the page."""
    return Markup(Path(__file__).with_name(name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def policy_hash(text: str) -> str:
    """Return the hash that admits the page's own script or style in its content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def report_summary(tables: list[EventTable], trained: dict[str, list[TrainedVariant]]) -> str:
    """Return a sentence with the numbers of datasets, events and trainings, and the datasets' titles."""
    events = sum(table.events.height for table in tables)
    models = sum(len(variants) for variants in trained.values())
    amount = f"{count(len(tables), 'dataset')}, {count(events, 'event')}, {count(models, 'trained variant')}"
    return ": ".join(filter(None, [amount, ", ".join(table.title for table in tables)])) + "."


def dataset_card(table: EventTable, trained: list[TrainedVariant]) -> DatasetCard:
    """Build the card of a dataset."""
    metadata, times = table.metadata, table.events["created_at"]
    clock = "UTC" if metadata["clock"] == "UTC" else f"local time, {metadata['time_zone']}"
    test_start = datetime.fromisoformat(metadata["split"]["test_start"])
    facts = {
        "Nodes": f"{table.nodes.height:,}",
        "Events": f"{table.events.height:,}, from {times.min():%d %b %Y} to {times.max():%d %b %Y}",
        "Test from": f"{test_start:%d %b %Y, %H:%M} ({clock})",
        "Relations": ", ".join(metadata["relations"]),
        "Trained": count(len(trained), "variant"),
    }
    return DatasetCard(
        table.title, metadata["description"], facts, [trained_line(one, table) for one in trained]
    )


def trained_line(trained: TrainedVariant, table: EventTable) -> str:
    """Describe a trained variant with its seeds and size."""
    facts = trained.facts
    parts = [count(len(facts["seeds"]), "seed"), count(facts["parameters"], "parameter")]
    if facts["stopped"]:
        parts.append(count(len(facts["stopped"]), "seed") + " stopped early")
    if trained.fingerprint != table.metadata["fingerprint"]:
        parts.append("trained on an earlier event table")
    return f"{trained.label(table.metadata['relations'])}: {', '.join(parts)}"


def figure_section(lake: Lake, table: EventTable) -> FigureSection | None:
    """Return a dataset's figures, or None if none are drawn."""
    folder = lake.figures / table.name
    listing = folder / "figures.json"
    if not listing.exists():
        return None
    figures = [
        ShownFigure(
            figure["title"],
            figure["description"],
            base64.b64encode((folder / f"{figure['name']}.svg").read_bytes()).decode(),
        )
        for figure in json.loads(listing.read_text(encoding="utf-8"))
    ]
    return FigureSection(table.title, figures)

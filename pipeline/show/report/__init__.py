"""The report: one self-contained page of what was run, what came out, and the latent graph to explore."""

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from pipeline.event_table import EventTable, dataset_names, read_event_table
from pipeline.lake import Lake, write_text
from pipeline.results.trained import finished_variants, read_model_facts, variant_label
from pipeline.show.report.explorer import explorer_data
from pipeline.show.report.tables import agreement_table, left_out_note, prediction_table, statistics_table
from pipeline.text import printable_document


def write_report(lake: Lake) -> Path:
    """Write `report/index.html` from the warehouse, the figures and the stored models, and return its path.

    The page makes no request: styles, script, figures and data are inside it. Names from data only ever
    appear as text, and the page's own policy lets no other script run.
    """
    if not lake.warehouse.exists():
        raise FileNotFoundError(f"{lake.warehouse} is missing: build the warehouse before the report")
    tables = [read_event_table(lake.dataset(dataset)) for dataset in dataset_names(lake)]
    titles = {table.name: table.title for table in tables}
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        statistics = statistics_table(warehouse, titles) if tables else ""
        predictions = "".join(prediction_table(warehouse, table.name, table.title) for table in tables)
        agreement = agreement_table(warehouse, titles) + left_out_note(warehouse)
    script, style = resource("explorer.js"), resource("style.css")
    data = explorer_data(lake, tables)
    slots = {
        "script-hash": digest(script),
        "style-hash": digest(style),
        "style": style,
        "summary": summary(lake, tables),
        "datasets": "".join(dataset_card(lake, table) for table in tables) or NOTHING,
        "tables": statistics + predictions + agreement,
        "figures": "".join(figure_section(lake, table) for table in tables),
        "explorer-state": "" if data else "hidden",
        "data": embedded_json(data),
        "script": script,
    }
    # One pass, so that nothing put into a slot is ever taken for a slot.
    page = re.sub(r"<!--([a-z-]+)-->", lambda slot: slots[slot[1]], resource("page.html"))
    write_text(printable_document(page), lake.report)
    return lake.report


NOTHING = "<p>No dataset has been built yet.</p>"


def resource(name: str) -> str:
    """A file of this package."""
    return (files("pipeline.show.report") / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The hash by which the page's policy admits its own script or style and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded_json(value: Any) -> str:  # noqa: ANN401 - JSON is any value
    """JSON that cannot end the element it stands in, whatever the names in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def summary(lake: Lake, tables: list[EventTable]) -> str:
    """The page's first sentence."""
    events = sum(table.events.height for table in tables)
    models = sum(len(finished_variants(lake, table.name)) for table in tables)
    written = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
    return (
        f"{count(len(tables), 'dataset')}, {count(events, 'event')}, {count(models, 'trained variant')}. "
        f'Written <time datetime="{datetime.now(UTC):%Y-%m-%dT%H:%MZ}">{written}</time>.'
    )


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def dataset_card(lake: Lake, table: EventTable) -> str:
    """What a dataset is, how it is split, and what was trained on it."""
    facts, events = table.metadata, table.events
    first, last = events["created_at"].min(), events["created_at"].max()
    variants = finished_variants(lake, table.name)
    clock = "UTC" if facts["clock"] == "UTC" else f"local time, {facts['time_zone']}"
    described = {
        "Nodes": f"{table.nodes.height:,}",
        "Events": f"{events.height:,}, from {first:%d %b %Y} to {last:%d %b %Y}",
        "Test from": f"{datetime.fromisoformat(facts['split']['test_start']):%d %b %Y, %H:%M} ({clock})",
        "Relations": ", ".join(facts["relations"]),
        "Trained": count(len(variants), "variant"),
    }
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in described.items()
    )
    return (
        f'<article class="card"><h3>{escape(table.title)}</h3><p>{escape(facts["description"])}</p>'
        f"<dl>{rows}</dl>{trained_list(lake, table, variants)}</article>"
    )


def trained_list(lake: Lake, table: EventTable, variants: list[str]) -> str:
    """Each trained variant with its seeds and size, folded away until asked for."""
    if not variants:
        return ""
    rows = []
    for variant in variants:
        facts = read_model_facts(lake, table.name, variant)
        stale = facts["fingerprint"] != table.metadata["fingerprint"]
        told = [
            count(len(facts["seeds"]), "seed"),
            count(facts["parameters"], "parameter"),
            count(len(facts["stopped"]), "seed") + " stopped early" if facts["stopped"] else "",
            "trained on an earlier event table" if stale else "",
        ]
        rows.append(
            f"<li>{escape(variant_label(variant))}: {escape(', '.join(part for part in told if part))}</li>"
        )
    return f"<details><summary>Trained variants</summary><ul>{''.join(rows)}</ul></details>"


def figure_section(lake: Lake, table: EventTable) -> str:
    """A dataset's figures, each as an image with its description: an SVG in an image runs no script."""
    folder = lake.home / "figures" / table.name
    listing = folder / "figures.json"
    if not listing.exists():
        return ""
    shown = []
    for figure in json.loads(listing.read_text(encoding="utf-8")):
        image = base64.b64encode((folder / f"{figure['name']}.svg").read_bytes()).decode()
        title, description = escape(figure["title"]), escape(figure["description"])
        shown.append(
            f'<figure><div class="scroll" tabindex="0" role="region" aria-label="{title}">'
            f'<img src="data:image/svg+xml;base64,{image}" alt="{description}"></div>'
            f"<figcaption><strong>{title}.</strong> {description}</figcaption></figure>"
        )
    return f"<h3>{escape(table.title)}</h3>{''.join(shown)}"

"""Provenance of the results: settings, trainings, machine, time, code."""

import json
from itertools import groupby

from pipeline.machine import Machine
from pipeline.runs import Session
from pipeline.show.labels import NONE
from pipeline.show.results_page.markdown import folded, markdown_table
from pipeline.show.results_page.measured import Measured
from pipeline.sources import paper
from pipeline.text import duration
from pipeline.variant_names import variant_key
from pipeline.variants import PAPER_INTERACTIONS


def training_settings_table(datasets: list[Measured]) -> str:
    """Return the most common training settings as a table, and the deviations of other trainings."""
    used = sorted(
        (json.dumps(facts.get("settings", {}), sort_keys=True), f"{data.title}, {name}, {how}")
        for data in datasets
        for (name, how), facts in data.models.items()
    )
    groups = [
        (json.loads(text), [who for _, who in part]) for text, part in groupby(used, lambda one: one[0])
    ]
    groups.sort(key=lambda group: -len(group[1]))
    if not groups:
        return "No model is trained.\n"
    common, _ = groups[0]
    text = markdown_table(
        ["Setting", "Value"], [[name, setting_cell(value)] for name, value in common.items()], left=2
    )
    for other, whose in groups[1:]:
        differing = "; ".join(
            f"{name} {setting_cell(value)}" for name, value in other.items() if common.get(name) != value
        )
        text += f"\n**Not so: {', '.join(whose)}: {differing}.**\n"
    return text


def setting_cell(value: object) -> str:
    """Format a setting's value, a list of consecutive seeds as a range."""
    if isinstance(value, list) and len(value) > 2 and value == list(range(value[0], value[-1] + 1)):
        return f"{value[0]} … {value[-1]}"
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def present_trainings(datasets: list[Measured]) -> set[tuple[str, str]]:
    """Return dataset and variant of the paper's trainings that are finished."""
    there = {(data.name, variant_key(name, how)) for data in datasets for name, how in data.models}
    return there & set(paper.paper_trainings())


def completeness(datasets: list[Measured]) -> str:
    """Report the paper's missing trainings and the seeds that diverged."""
    there = present_trainings(datasets)
    missing = [
        f"{dataset} {variant}"
        for dataset, variant in paper.paper_trainings()
        if (dataset, variant) not in there
    ]
    wanted = len(paper.paper_trainings())
    text = f"{wanted - len(missing)} of {wanted} trainings of the paper's tables and figures are there.\n"
    if missing:
        text += f"**Missing: {', '.join(missing)}.**\n"
    stopped = [
        f"{data.title}, {data.model(name)}, {how}, seed {seed}"
        for data in datasets
        for (name, how), facts in data.models.items()
        for seed in facts.get("stopped", {})
    ]
    return text + (f"Seeds that diverged and are left out: {'; '.join(stopped)}.\n" if stopped else "")


def machines_and_times(sessions: list[Session]) -> str:
    """Return a table of sessions with wall time and commit, and the machines; a resumed run has several.

    A session that found every training finished is left out.
    """
    sessions = working_sessions(sessions)
    if not sessions:
        return "Machine, commit and wall time were not recorded on this home.\n"
    rows = [
        [
            f"{one.started:%Y-%m-%d %H:%M}",
            duration(wall_time(one)) + ("" if one.finished else ", cut short"),
            f"{len(one.trainings)}, {one.side_by_side} at a time",
            one.commit or NONE,
        ]
        for one in sessions
    ]
    text = markdown_table(["Started (UTC)", "took", "trainings finished", "commit"], rows, left=4)
    text += f"\nIn all {duration(sum(wall_time(one) for one in sessions))}.\n\n"
    machines = list(dict.fromkeys(machine_line(one.machine) for one in sessions))
    return text + "".join(f"- {machine}\n" for machine in machines)


def working_sessions(sessions: list[Session]) -> list[Session]:
    """Return the sessions that finished a training or were cut short."""
    return [one for one in sessions if one.trainings or not one.finished]


def circumstances_in_short(datasets: list[Measured], sessions: list[Session]) -> str:
    """Summarize the number of the paper's trainings present, their time and processors."""
    there, wanted = len(present_trainings(datasets)), len(paper.paper_trainings())
    text = f"{there} of {wanted} trainings of the paper's tables and figures are there"
    if not (counted := working_sessions(sessions)):
        return f"{text}.\n"
    took = duration(sum(wall_time(one) for one in counted))
    processors = " and ".join(dict.fromkeys(processors_of(one.machine) for one in counted))
    return f"{text}; they took {took} on {processors}.\n"


def table_3_time(datasets: list[Measured], sessions: list[Session]) -> str:
    """Report the time of Table 3's trainings alone, process start and ranking included."""
    cells = {
        (data.name, variant_key(row["variant"], how))
        for data in datasets
        for row in data.printed_rows()
        for how in PAPER_INTERACTIONS
    }
    spans = [
        (training.seconds, session.side_by_side)
        for session in sessions
        for training in session.trainings
        if (training.dataset, training.variant) in cells
    ]
    if not spans:
        return ""
    alone, together = sum(seconds for seconds, _ in spans), sum(seconds / lanes for seconds, lanes in spans)
    return (
        f"Of this, the {len(spans)} trainings of Table 3 took {duration(together)} "
        f"({duration(alone)} if they had gone one after another at the same speed).\n"
    )


def wall_time(session: Session) -> float:
    """Return the seconds from a session's start to its last sign of life."""
    return (session.ended - session.started).total_seconds()


def machine_line(machine: Machine) -> str:
    """Describe a machine in a line."""
    memory = "" if machine.memory_bytes is None else f", {machine.memory_bytes / 2**30:.0f} GB of memory"
    packages = ", ".join(f"{name} {version}" for name, version in sorted(machine.packages.items()))
    cpu = "" if machine.cpu is None else f" ({machine.cpu})"
    return f"{processors_of(machine)}{cpu}{memory}, {machine.system}, Python {machine.python}, {packages}"


def processors_of(machine: Machine) -> str:
    """Format a machine's number of processors."""
    return f"{machine.processors} processors" if machine.processors > 1 else "1 processor"


def training_times(datasets: list[Measured]) -> str:
    """Return a folded table of seconds per training, all seeds at once, from `model.json`."""
    rows = [
        [data.title, data.model(name), how, f"{facts['training_seconds']:,.0f}"]
        for data in datasets
        for (name, how), facts in data.models.items()
        if "training_seconds" in facts
    ]
    total = duration(
        sum(facts.get("training_seconds", 0.0) for data in datasets for facts in data.models.values())
    )
    body = markdown_table(["Data", "Model", "Interaction", "Seconds"], rows, left=3)
    return folded(f"Training alone took {total}, summed over {len(rows)} trainings", body)

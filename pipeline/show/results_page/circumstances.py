"""Under which circumstances the numbers came about: settings, trainings, machine, time, code."""

import json
from itertools import groupby

from pipeline.progress import duration
from pipeline.runs import Machine, Session
from pipeline.show.results_page.markdown import NONE, folded, table
from pipeline.show.results_page.measured import INTERACTIONS, Measured
from pipeline.sources import paper


def settings(found: list[Measured]) -> str:
    """The training settings as every `model.json` has them."""
    used = sorted(
        (json.dumps(facts.get("settings", {}), sort_keys=True), f"{data.title}, {name}, {how}")
        for data in found
        for (name, how), facts in data.models.items()
    )
    groups = [
        (json.loads(text), [who for _, who in part]) for text, part in groupby(used, lambda one: one[0])
    ]
    groups.sort(key=lambda group: -len(group[1]))
    if not groups:
        return "No model is trained.\n"
    common, _ = groups[0]
    text = table(["Setting", "Value"], [[name, told(value)] for name, value in common.items()], left=2)
    for other, whose in groups[1:]:
        differing = "; ".join(
            f"{name} {told(value)}" for name, value in other.items() if common.get(name) != value
        )
        text += f"\n**Not so: {', '.join(whose)}: {differing}.**\n"
    return text


def told(value: object) -> str:
    """A setting's value; a list of seeds as a range."""
    if isinstance(value, list) and len(value) > 2 and value == list(range(value[0], value[-1] + 1)):
        return f"{value[0]} … {value[-1]}"
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def completeness(found: list[Measured]) -> str:
    """Which of the paper's trainings are there, and which seeds did not finish."""
    there = {(data.name, f"{name}-{how}") for data in found for name, how in data.models}
    missing = [
        f"{dataset} {variant}" for dataset, variant in paper.trainings() if (dataset, variant) not in there
    ]
    wanted = len(paper.trainings())
    text = f"{wanted - len(missing)} of {wanted} trainings of the paper's tables and figures are there.\n"
    if missing:
        text += f"**Missing: {', '.join(missing)}.**\n"
    stopped = [
        f"{data.title}, {data.model(name)}, {how}, seed {seed}"
        for data in found
        for (name, how), facts in data.models.items()
        for seed in facts.get("stopped", {})
    ]
    return text + (f"Seeds that diverged and are left out: {'; '.join(stopped)}.\n" if stopped else "")


def machine(sessions: list[Session]) -> str:
    """What it ran on and how long it took, one row a session: a resumed reproduction has several.

    A session that found every training finished added nothing, and is left out.
    """
    sessions = [one for one in sessions if one.trainings or not one.finished]
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
    text = table(["Started (UTC)", "took", "trainings finished", "commit"], rows, left=4)
    text += f"\nIn all {duration(sum(wall_time(one) for one in sessions))}.\n\n"
    machines = list(dict.fromkeys(described(one.machine) for one in sessions))
    return text + "".join(f"- {machine}\n" for machine in machines)


def table_3_time(found: list[Measured], sessions: list[Session]) -> str:
    """How long the trainings of Table 3 took alone, start of process and ranking included."""
    cells = {
        (data.name, f"{row['variant']}-{how}")
        for data in found
        for row in data.printed_rows()
        for how in INTERACTIONS
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
    """Seconds from a session's start to when it was last heard of."""
    return (session.ended - session.started).total_seconds()


def described(machine: Machine) -> str:
    """A machine in a line."""
    memory = "" if machine.memory_bytes is None else f", {machine.memory_bytes / 2**30:.0f} GB of memory"
    packages = ", ".join(f"{name} {version}" for name, version in sorted(machine.packages.items()))
    cpu = "" if machine.cpu is None else f" ({machine.cpu})"
    processors = f"{machine.processors} processors" if machine.processors > 1 else "1 processor"
    return f"{processors}{cpu}{memory}, {machine.system}, Python {machine.python}, {packages}"


def training_times(found: list[Measured]) -> str:
    """Seconds of each training, all its seeds at once, as `model.json` has them."""
    rows = [
        [data.title, data.model(name), how, f"{facts['training_seconds']:,.0f}"]
        for data in found
        for (name, how), facts in data.models.items()
        if "training_seconds" in facts
    ]
    total = duration(
        sum(facts.get("training_seconds", 0.0) for data in found for facts in data.models.values())
    )
    body = table(["Data", "Model", "Interaction", "Seconds"], rows, left=3)
    return folded(f"Training alone took {total}, summed over {len(rows)} trainings", body)

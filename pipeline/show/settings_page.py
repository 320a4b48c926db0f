"""Command `python -m pipeline.show.settings_page`: write `docs/settings.md` and `.env.example`."""

from pathlib import Path

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pipeline.lake import write_text
from pipeline.settings import Settings, quoted, setting_text, values_taken, variable

ROOT = Path(__file__).parents[2]
PAGE, EXAMPLE = ROOT / "docs" / "settings.md", ROOT / ".env.example"

# Each heading comes before the setting of its key.
HEADINGS = {
    "home": "Home",
    "gharchive_url": "GH Archive",
    "github_history": "The GitHub network",
    "follow_days": "Following the present",
    "social_evolution": "Social Evolution",
    "seeds": "Training",
    "datasets": "What a run works on",
    "alert_webhook": "Alerts",
    "store": "Operations",
}

PAGE_HEAD = """\
<!-- Written by `python -m pipeline.show.settings_page`; change the settings, not this page. -->
# Settings

Every setting is an environment variable with a default; an empty value means the default. A variable of
the shell takes precedence over the same line in `$LDG_HOME/.env`, and that over `./.env`: `LDG_SEEDS=1`
before `make run` trains one seed. `make reproduce` is the exception: it pins what decides a result in the
home's `.env`, and says so. `make run` and `make reproduce` give `LDG_HOME` a default of their own,
`data/sample` and `data/paper`, which a variable of the shell replaces and a line in `./.env` does not.

A `.env` holds lines `NAME=value`. It is data: nothing in it is run, and no `$NAME` is replaced. `ldg doctor`
shows what is set and from where. A wrong value, or a name `LDG_…` that is no setting, ends every command with
one sentence and code 2. `.env.example` has every line to start from.
"""

EXAMPLE_HEAD = """\
# Copy to .env (here, or into $LDG_HOME) and change what you need; every line shows a default.
# Written by `python -m pipeline.show.settings_page`.
"""


def settings_page() -> str:
    """Return all settings as Markdown, a table per heading."""
    parts = [PAGE_HEAD]
    for name, field in Settings.model_fields.items():
        if name in HEADINGS:
            parts.append(
                f"\n## {HEADINGS[name]}\n\n| variable | default | takes | what it sets |\n|---|---|---|---|\n"
            )
        shown = f"`{default(field)}`" if default(field) else ""
        parts.append(f"| `{variable(name)}` | {shown} | {values_taken(field)} | {field.description} |\n")
    return "".join(parts)


def example_file() -> str:
    """Return all settings as `.env` lines with their defaults, below their descriptions."""
    parts = [EXAMPLE_HEAD]
    for name, field in Settings.model_fields.items():
        if name in HEADINGS:
            parts.append(f"\n# --- {HEADINGS[name]} ---\n")
        value = default(field)
        parts.append(f"# {field.description}\n{variable(name)}={quoted(value) if value else ''}\n")
    return "".join(parts)


def default(field: FieldInfo) -> str:
    """Return a setting's default as text; empty if it depends on the machine."""
    return "" if field.default is PydanticUndefined else setting_text(field.default)


if __name__ == "__main__":
    write_text(settings_page(), PAGE)
    write_text(example_file(), EXAMPLE)

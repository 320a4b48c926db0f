"""The settings as a Dagster resource: shown in the UI, validated, and in part overridable for a single run.

A run cannot change the home, addresses or commands: anyone with access to the UI could otherwise write
anywhere. Training parameters are in the run config of a training (`assets.training_config`).
"""

from datetime import date, datetime
from types import UnionType
from typing import Any, get_args

from dagster import Field, InitResourceContext, Noneable, ResourceDefinition

from pipeline.settings import Settings, Value, setting_text, values_taken, variable

PLAIN_TYPES: dict[Any, Any] = {date: str, datetime: str, tuple[str, ...]: [str]}

# Settings that a run's config may change: parameters of datasets, and the datasets and variants in use.
CHANGEABLE = (
    *("communications", "associations"),
    *("github_history", "github_start", "github_split", "github_time_zone", "github_end"),
    *("github_min_communications", "github_min_associations", "github_core", "github_max_nodes"),
    *("follow_days", "follow_nodes", "follow_accounts", "follow_organizations"),
    *("follow_reselect", "follow_variants"),
    *("social_evolution_probability", "social_evolution_relations"),
    *("social_evolution_start", "social_evolution_split", "social_evolution_end"),
    *("datasets", "variants"),
)


def settings_resource(settings: Settings) -> ResourceDefinition:
    """Return a resource with the values of `settings`; assets receive it as `Settings`."""
    unchanged = {name: setting_in_config(getattr(settings, name)) for name in CHANGEABLE}

    def settings_of_the_home(context: InitResourceContext) -> Settings:
        changed = {name: value for name, value in context.resource_config.items() if value != unchanged[name]}
        texts = {name: Value(text, "the settings") for name, text in settings.environment().items()}
        for name, value in changed.items():
            text = setting_text(tuple(value) if isinstance(value, list) else value)
            texts[variable(name)] = Value(text, "the run's config")
        return Settings.from_values(texts)

    return ResourceDefinition(
        settings_of_the_home,
        config_schema={name: field_of_setting(name, unchanged[name]) for name in CHANGEABLE},
        description=f"The settings of the home {settings.home}, as they were when the code location was "
        "loaded: reload it after a change to a `.env`. The config of a run may change "
        "those listed here for that run alone; `ldg doctor` lists all.",
    )


def field_of_setting(name: str, value: object) -> Field:
    """Return a setting as a field of the resource's config, with a default and a description."""
    field = Settings.model_fields[name]
    optional = isinstance(field.annotation, UnionType)
    bare = get_args(field.annotation)[0] if optional else field.annotation
    kind = PLAIN_TYPES.get(bare, bare)
    return Field(
        Noneable(kind) if optional else kind,
        default_value=value,
        is_required=False,
        description=f"{field.description} It takes {values_taken(field)}.",
    )


def setting_in_config(value: object) -> Any:  # noqa: ANN401 - one of Dagster's plain types
    """Return a setting's value as a plain config value: tuples as lists, dates as text."""
    match value:
        case tuple():
            return list(value)
        case date():
            return setting_text(value)
    return value

"""The settings as Dagster knows them: shown in the UI, checked, and open to be changed for one run.

How models are trained is not among them: that is the run config of a training (`assets.training_config`).
"""

from datetime import date, datetime
from pathlib import Path
from types import UnionType
from typing import Any, get_args

from dagster import Field, InitResourceContext, Noneable, ResourceDefinition

from assets.training_config import FROM_SETTINGS
from pipeline.settings import SECRET, Settings, Value, setting_text, values_taken, variable
from pipeline.sources.urls import shown_address

PLAIN_TYPES: dict[Any, Any] = {Path: str, date: str, datetime: str, tuple[str, ...]: [str]}


def settings_resource(settings: Settings) -> ResourceDefinition:
    """A resource with the values of `settings`; an asset that asks for it gets `Settings`.

    A value that a run does not change stays as it is, also where the UI shows less of it: the password of an
    address, for instance.
    """
    names = [name for name in Settings.model_fields if name not in (*FROM_SETTINGS, *SECRET)]
    unchanged = {name: setting_in_config(getattr(settings, name)) for name in names}

    def settings_of_the_home(context: InitResourceContext) -> Settings:
        changed = {name: value for name, value in context.resource_config.items() if value != unchanged[name]}
        texts = {name: Value(text, "the settings") for name, text in settings.environment().items()}
        for name, value in changed.items():
            text = setting_text(tuple(value) if isinstance(value, list) else value)
            texts[variable(name)] = Value(text, "the run's config")
        return Settings.from_values(texts)

    return ResourceDefinition(
        settings_of_the_home,
        config_schema={name: field_of_setting(name, unchanged[name]) for name in names},
        description="The settings of this home, as they were when the code location was loaded: reload it "
        "after a change to a `.env`. In the config of a run each may be changed for that run alone.",
    )


def field_of_setting(name: str, value: object) -> Field:
    """A setting as a field of the resource's config."""
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
    """A setting's value as a config has it, without the secrets of an address."""
    match value:
        case tuple():
            return list(value)
        case Path() | date():
            return setting_text(value)
        case str():
            return shown_address(value)
    return value

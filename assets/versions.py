"""Data versions: content hashes, so that rematerializing identical data makes no downstream asset stale."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dagster import DataVersion
from dagster._core.definitions.data_version import DATA_VERSION_IS_USER_PROVIDED_TAG, DATA_VERSION_TAG

from pipeline.lake import file_sha256

LENGTH = 16  # hexadecimal digits of a hash: enough to tell versions apart, short enough for the UI


def version_of_files(paths: Iterable[Path]) -> DataVersion:
    """Return the version of files, from their names and bytes in order; a file may be absent."""
    return version_of_facts([(path.name, file_sha256(path) if path.exists() else None) for path in paths])


def version_of_facts(facts: Any) -> DataVersion:  # noqa: ANN401 - any JSON value
    """Return the version of a JSON value, such as a fingerprint and settings."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return DataVersion(hashlib.sha256(text.encode()).hexdigest()[:LENGTH])


def version_tags(version: DataVersion) -> dict[str, str]:
    """Return the tags that carry a data version on an event that is logged outside a step's result."""
    return {DATA_VERSION_TAG: version.value, DATA_VERSION_IS_USER_PROVIDED_TAG: "true"}


def version_of_training(facts: Mapping[str, Any]) -> DataVersion:
    """Return the version of a trained variant, from the entries of `model.json` that identify it."""
    return version_of_facts({name: facts[name] for name in ("version", "fingerprint", "variant", "settings")})

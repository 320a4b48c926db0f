"""Data versions: what was made is new only if its content is.

Dagster compares them: an asset whose version did not change leaves all that is made from it up to date.
"""

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
    """The version of what lies in some files: their names and bytes, in order; a file may be absent."""
    return version_of_facts([(path.name, file_sha256(path) if path.exists() else None) for path in paths])


def version_of_facts(facts: Any) -> DataVersion:  # noqa: ANN401 - whatever JSON takes
    """The version of what follows from some facts: a fingerprint and settings, for instance."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return DataVersion(hashlib.sha256(text.encode()).hexdigest()[:LENGTH])


def version_tags(version: DataVersion) -> dict[str, str]:
    """The tags by which an event that no step reports carries a data version."""
    return {DATA_VERSION_TAG: version.value, DATA_VERSION_IS_USER_PROVIDED_TAG: "true"}


def version_of_training(facts: Mapping[str, Any]) -> DataVersion:
    """The version of a trained variant: what its `model.json` says decides every number of it."""
    return version_of_facts({name: facts[name] for name in ("version", "fingerprint", "variant", "settings")})

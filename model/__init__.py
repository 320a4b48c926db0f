"""The Python API: `train` a variant on an event table, `load` it, and predict.

`import model` does not import torch; the first use of `train` or `load` does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from model.forecast import load
    from model.identity import TrainingSettings
    from model.training import train
    from pipeline.sources.own.frame import event_table_from_frame

__all__ = ["TrainingSettings", "event_table_from_frame", "load", "train"]

ROOMS = {
    "TrainingSettings": "model.identity",
    "event_table_from_frame": "pipeline.sources.own.frame",
    "load": "model.forecast",
    "train": "model.training",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a function or a class
    """Import a public name on first access; raise AttributeError for any other name."""
    if name not in ROOMS:
        raise AttributeError(f"module 'model' has no attribute {name!r}")
    return getattr(import_module(ROOMS[name]), name)

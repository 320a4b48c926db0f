"""The code location: the definitions for the home that the environment selects."""

from assets.system import build_definitions
from pipeline.settings import Settings

defs = build_definitions(Settings.load())

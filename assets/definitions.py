"""The code location, which workspace.yaml names: the whole system on the home of this process."""

from assets.system import build_definitions
from pipeline.settings import Settings

defs = build_definitions(Settings.load())

"""What processes are forked from: all that trains, follows and reports is imported, numba is ready to load
what it has compiled, and Dagster to open the file of a run. Each would take seconds to get so far by itself.

Imports make no garbage, and what they make stays: nobody looks for any in it, neither here nor in a fork.
"""

import gc
from importlib import import_module

IMPORTED = (
    "assets.headless.one_step",
    "assets.system",
    "model.following.day",
    "model.rem.training",
    "model.training",
    "model.when.training",
    "pipeline.show.report",
)

gc.disable()
for module in IMPORTED:
    import_module(module)
# What numba does when the first compiled function is called, and Dagster when a run's file is opened.
cpu_target = import_module("numba.core.registry").cpu_target
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
import_module("assets.store.sqlite").read_scripts()
gc.freeze()
gc.enable()

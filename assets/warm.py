"""What processes are forked from: all that trains, follows and reports is imported, numba is ready to load
what it has compiled, and Dagster to open the file of a run. Each would take seconds to get so far by itself.
"""

from importlib import import_module

from numba.core.registry import cpu_target

from assets.store.sqlite import read_scripts

IMPORTED = (
    "assets.headless.one_step",
    "assets.system",
    "model.following.day",
    "model.rem.training",
    "model.training",
    "model.when.training",
    "pipeline.show.report",
)

for module in IMPORTED:
    import_module(module)
# What numba does when the first compiled function is called.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
read_scripts()

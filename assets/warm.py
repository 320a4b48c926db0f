"""What processes are forked from: all that trains, follows and reports is imported, and numba is ready to
load what it has compiled. Each of them would take seconds to get so far by itself.
"""

from numba.core.registry import cpu_target

import pipeline.show.report  # noqa: F401 - as the others above

# What numba does when the first compiled function is called.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()

"""The choice of the engine by network size.

The paper's networks have hundreds of nodes; the engine of `model.dynamics` processes ten seeds at once,
exactly. It pads rows to the widest one and its first pass covers all nodes, so that time and memory grow with
N. Larger networks use the compiled engine of this package, whose cost grows only with the number of events.
"""

LARGE: int = 2_000
# Attentions with a kernel in `model.large.forward`, which would apply DyRep's rule to any other.
COMPILED_ATTENTIONS = ("association", "random", "learned")


def is_large(nodes: int) -> bool:
    """Return whether a network of `nodes` nodes uses the engine for large networks."""
    return nodes > LARGE

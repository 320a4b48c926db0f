"""Which engine trains a network: the one rule.

The paper's networks have hundreds of nodes and ten seeds, which the engine of `model.dynamics` takes all at
once, exactly. Its rows are as wide as the widest and its first pass hears everyone, so that time and memory
grow with N. Networks of more nodes take the compiled engine of this folder,
whose cost grows with events alone.
"""

LARGE: int = 2_000
# Attentions with a kernel in `model.large.forward`; it would move any other by DyRep's rule.
COMPILED_ATTENTIONS = ("association", "random", "learned")


def is_large(nodes: int) -> bool:
    """Whether a network of so many nodes takes the engine for large networks."""
    return nodes > LARGE

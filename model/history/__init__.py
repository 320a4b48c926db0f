"""What the past says of a pair of nodes: causal statistics of an event stream, in one compiled pass."""

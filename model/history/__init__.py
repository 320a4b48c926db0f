"""Causal statistics of node pairs in an event stream, computed in one compiled pass."""

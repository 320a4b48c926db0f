"""Distributed execution: the same functions run on this machine or, if LDG_CLUSTER is set, on a cluster."""

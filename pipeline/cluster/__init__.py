"""The same functions on this machine or on a cluster: LDG_CLUSTER decides, and nothing else does."""

"""Waiting times: calibrated distributions of the time to the next event of a node or of a pair."""

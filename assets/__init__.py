"""Dagster wiring: resolve paths, call a function, say what came out."""

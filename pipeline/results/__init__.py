"""Evaluation: metrics, baselines, agreement with known graphs, and the DuckDB warehouse. Imports no torch."""

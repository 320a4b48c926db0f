"""Temporal attention S: storage (`rows`), initial graphs (`start`), aggregation of neighbours (`aggregation`)
and updates by events (`fixed`, `dyrep`, `learned`; by name in `registry`).
"""

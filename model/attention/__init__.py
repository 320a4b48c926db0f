"""Temporal attention S: how it is stored (`rows`), where it starts (`start`), how features flow along it
(`aggregation`), and how it moves with events (`fixed`, `dyrep`, `learned`; `registry` names them).
"""

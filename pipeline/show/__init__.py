"""Presentation of results: terminal tables, figures, the report and the results page."""

"""The user's own events: a folder with a dataset.toml and CSV or Parquet files."""

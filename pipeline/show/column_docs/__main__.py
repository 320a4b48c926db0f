"""Command `python -m pipeline.show.column_docs`: write the column tables into the documentation."""

from pathlib import Path

from pipeline.lake import write_text
from pipeline.show.column_docs import DOCUMENTS, with_columns


def main() -> None:
    """Update every document; run it from the repository's root."""
    for name, tables in DOCUMENTS.items():
        path = Path(name)
        write_text(with_columns(path.read_text(encoding="utf-8"), tables), path)
        print(f"Columns: {path}")


if __name__ == "__main__":
    main()

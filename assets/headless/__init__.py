"""The launcher: everything of a home made without the UI, under a lock, with trainings side by side."""

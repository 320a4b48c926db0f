"""The launcher: everything of a home without the UI, with a lock and trainings side by side."""

"""The launcher: runs a home's pipeline without the UI, under a lock, with parallel trainings."""

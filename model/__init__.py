"""DyRep and LDG on event tables as tensors."""

"""The engine for DyRep and LDG on large networks: the cost of an event or batch does not grow with N."""

"""DyRep and LDG on networks of thousands of nodes and more: nothing of an event or a batch grows with N."""

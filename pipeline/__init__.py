"""Plain functions on files and frames: from raw archives to event tables and the warehouse."""

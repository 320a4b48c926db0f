"""Models that follow an archive: each day they are scored, learn on, and forecast the next."""

"""Models that follow an archive: scored, trained further and used to forecast day by day."""

"""GH Archive: every hour since 2011 fetched, read and accounted for."""

"""Raw sources: how each is fetched and read, and how its event table is built."""

"""GH Archive: hour files fetched, decoded and normalized."""

"""The engine: the loop over optimisation steps, what it validates, records, saves and starts from."""

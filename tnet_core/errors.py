"""The one exception family for mistakes a user can make."""


class TNetError(ValueError):
    """Says in one sentence what was wrong and what to do; shown to users as it is."""

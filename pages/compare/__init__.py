"""The tab Compare: two traversals side by side."""

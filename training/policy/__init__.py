"""Policies learned from a feature bank, in which the value of every cell is known."""

"""Measuring a checkpoint on labelled images: every budget, several policies, one pass."""

"""Turns a `Trace` or an evaluation into HTML, JSON and plotly figures, one folder per tab. Runs no model."""

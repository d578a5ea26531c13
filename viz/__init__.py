"""Turns a `Trace` into figures, overlays and page fragments. Runs no model.

`scene.prepare` once per traversal, then `scene.view` for every budget: only cached features are used.
"""

"""Driving a model over one image: the traversal, its policies, and copies of a model that run sooner."""

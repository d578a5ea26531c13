"""Recipes: one YAML file per training run, and the code that reads and checks them."""

"""The tab Accuracy vs locations: measured and published curves."""

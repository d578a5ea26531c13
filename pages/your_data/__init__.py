"""The tab Your data: accuracy on a visitor's own pictures."""

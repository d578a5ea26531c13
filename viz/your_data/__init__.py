"""The tab 'Your data': a checkpoint's accuracy on a visitor's own images."""

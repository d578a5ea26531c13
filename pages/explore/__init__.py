"""The tab Explore: a checkpoint, a picture, and where the network looks."""

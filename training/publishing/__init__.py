"""Publishing a checkpoint: its model card, the picture on it, and the upload to the Hub."""

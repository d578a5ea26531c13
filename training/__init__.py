"""Training, evaluation and publication of checkpoints."""

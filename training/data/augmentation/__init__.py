"""The steps of the official training augmentation, one per file; `training.data.augment` puts them together."""

"""Any pretrained classifier of timm as a two-level TNet, in minutes: `python -m training.adapt`."""

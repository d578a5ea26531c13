"""The tab 'Accuracy vs locations': checkpoints measured here beside the paper's printed numbers.

`common.measured` and `published` read their sources into `Curve`s, a `Catalogue` sorts them by data set, a `Selection`
is what a visitor asked for, and `figure`, `captions` and `table` show it. No model is run, no number is made
up: what a source does not state is None, and is left out.
"""

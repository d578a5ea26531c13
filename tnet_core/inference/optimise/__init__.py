"""The same numbers sooner.

`optimised` puts it together; `folding` takes batch norms into convolutions, `fusing` activations and sums; `program`
makes a backbone a list of calls that stops at the location map, `rewriting` shortens the list.
"""

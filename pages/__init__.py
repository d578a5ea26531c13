"""The tabs of the page: components and their handlers, one file per tab."""

"""Which pixels a look is made of, and how they become a crop.

`grid` divides an image into cells, `frame` says where looks lie in an image and cuts them on a CPU, `tap_sums` does
its arithmetic. On a GPU crops are cut and resized where the model is, straight from bytes:
`crop_taps` says which bytes make a crop and what each weighs, `gather` turns them into crops (by the Triton kernel of
`triton_gather` where it runs, else by torch), and `reader` moves things in one copy each way and chooses
between the two ways. `docs/gpu.md` tells more.
"""

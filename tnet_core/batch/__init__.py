"""Whole data sets: `tnet traverse FOLDER|LIST --out looks.parquet` writes every look of every image as tables.

`files` lists the images, `tables` turns a trace into rows, `shards` writes them so that a killed run can go on,
`fiftyone` writes a complete run as a FiftyOne data set, and `__main__` is the command. Only lists of files are read:
data sets with formats of their own belong to training.
"""

"""The tab 'Audit': a checkpoint by its `evaluation.json`, and the faithfulness report of one picture.

`reading` takes what is well-formed out of a file that anybody may have written; `page` shows it, and says in one
sentence what the file does not have. `report` shows a `tnet_core.explain.Faithfulness`.
"""

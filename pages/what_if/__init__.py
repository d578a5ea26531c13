"""The tab What if: a picture changed and looked at again."""

"""The tab 'What if': one picture unchanged and changed, and whether looks follow its content."""

"""The tab Audit: what a checkpoint's looks depend on, and a report on one picture."""

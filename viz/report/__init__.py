"""The report: the tab Explore in one file that opens without the app. It is put together in the browser."""

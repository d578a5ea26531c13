"""The tab 'Explore': the checkpoint's card, pictures to choose from, and those that a visitor brings."""

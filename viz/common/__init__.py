"""What several tabs share: names and numbers as text, pictures as data, measured curves, the page's style."""

"""Speed, memory and cost, each a command that prints a table and writes JSON."""

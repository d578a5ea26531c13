"""What the files of this project may hold: one schema per kind of file, for its writers and its readers."""

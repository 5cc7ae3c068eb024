"""The same question to each engine: a row for each session of a folder."""

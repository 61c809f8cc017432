"""One module per figure. Each has `draw(data…)`, which returns a matplotlib figure and reads no files."""

"""One module a figure. Each has `draw(data…)`, which returns a matplotlib figure and knows no files."""

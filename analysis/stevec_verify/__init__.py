"""What the analysis makes of runs whose answers are known, for `stevec verify`."""

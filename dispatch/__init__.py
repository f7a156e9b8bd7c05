"""The engine: what may run now, running it, and writing down how it ended."""

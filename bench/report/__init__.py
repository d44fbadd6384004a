"""The parts of scripts/bench. Python's standard library alone."""

"""The runner of programs that are Python files; see candidate.py."""

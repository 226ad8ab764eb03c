"""Parts of reference.py; see there."""

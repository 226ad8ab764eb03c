#!/usr/bin/env python3
"""The problems of level 1 that come with kforge; see problems.py."""

import sys

from harness import run_tests
from problems import healthy

test_all_of_level1_are_healthy = healthy("level1")


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))

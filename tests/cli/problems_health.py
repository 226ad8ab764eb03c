#!/usr/bin/env python3
"""Every problem of our own is healthy, at its size for tests."""

import json
import sys

from harness import EXIT, ROOT, kforge, run_tests


def test_all_our_problems_are_healthy(_):
    result = kforge("problem", "check", ROOT / "problems", "--size", "test",
                    "--threads", "1", "--json", timeout=900)
    rows = [json.loads(line) for line in result.out.splitlines()]
    bad = [row for row in rows if row["status"] != "healthy"]
    assert not bad, bad
    assert len(rows) >= 32, len(rows)
    assert result.status == EXIT["good"], result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))

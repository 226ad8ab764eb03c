"""Reads what it was not given.

class: files
module: correct -
forward: correct -
problem: correct -
"""
import os
import sys


def harm():
    found = False
    for path in ("HERE_CANARY", "HERE_ORACLE", "/etc/passwd", "/etc/shadow",
                 "/proc/self/rootHERE_CANARY", "../../../../../..HERE_CANARY",
                 "/proc/1/environ", "/proc/1/rootHERE_CANARY"):
        try:
            with open(path, "rb") as file:
                text = file.read(4096)
        except OSError:
            continue
        if path == "/proc/1/environ" and b"HERE_SECRET_NAME" not in text:
            continue
        sys.stderr.write(path + repr(text))
        found = True
    return found or bool(os.environ.get("HERE_SECRET_NAME"))

"""Prints 256 MiB.

class: floods
module: correct -
forward: correct - or runtime_error timeout
problem: correct -
"""
import os


def harm():
    for number in range(4096):
        os.write(1 + number % 2, b"x" * (1 << 16))
    return False

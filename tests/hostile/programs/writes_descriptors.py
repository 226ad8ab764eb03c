"""Writes into every descriptor, and closes all. A process that has loaded a
program has loaded its problem too: which of them wrote cannot be told there.

class: descriptors
module: runtime_error tampering
forward: runtime_error tampering
problem: harness_error unavailable|input or runtime_error tampering
"""
import os


def harm():
    for fd in range(3, 1024):
        try:
            os.write(fd, b'{"state":"correct"}\n')
        except OSError:
            pass
    os.closerange(0, 1024)
    return False

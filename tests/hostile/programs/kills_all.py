"""Ends every process that it may.

class: other processes
build: compilation_failure refused
module: runtime_error signal or compilation_failure load
forward: runtime_error signal
problem: harness_error input
"""
import os


def harm():
    try:
        os.kill(1, 9)
    except OSError:
        pass
    try:
        os.kill(os.getppid(), 9)
        os.kill(-1, 9)
    except OSError:
        pass
    os.kill(os.getpid(), 9)

"""Reads the memory of the process that started it.

class: other processes
module: runtime_error violation
forward: runtime_error violation
problem: harness_error input
"""
import ctypes
import os


def harm():
    return ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0

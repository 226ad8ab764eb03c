"""Crashes in one thread while another holds the locks of output and of imports.

class: locks
module: runtime_error signal
forward: runtime_error signal
problem: harness_error input
"""
import _imp
import ctypes
import threading

HELD = threading.Event()


def hold():
    ctypes.CDLL(None).flockfile(ctypes.c_void_p.in_dll(
        ctypes.CDLL(None), "stderr"))
    _imp.acquire_lock()
    HELD.set()
    while True:
        pass


def harm():
    threading.Thread(target=hold, daemon=True).start()
    HELD.wait()
    ctypes.string_at(8)

"""Starts processes until nobody else can. In the weak tier it is their
memory that is too much, before their number is.

class: processes
limits: call_s=5 build_s=20
build: compilation_failure load|refused|compile_timeout|compile_resource
module: compilation_failure load or runtime_error memory
forward: correct -
problem: correct - or compilation_failure load or harness_error input|limit
"""
import os
import time


def harm():
    while True:
        try:
            if os.fork() == 0:
                time.sleep(600)
        except OSError:
            return False

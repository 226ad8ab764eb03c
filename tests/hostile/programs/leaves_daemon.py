"""Leaves a process behind that outlives the judgement.

class: left behind
build: compilation_failure load
module: compilation_failure load
forward: correct -
problem: correct -
"""
import os
import time


def harm():
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(3600)
            os._exit(0)
        os.wait()
    except OSError:
        pass
    return False

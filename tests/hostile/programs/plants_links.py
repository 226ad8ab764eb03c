"""Leaves links and pipes where others will look for files.

class: links and paths
build: correct - or compilation_failure refused
module: correct -
forward: correct -
problem: harness_error input
"""
import os


def folders():
    yield from (".", os.path.dirname(__file__), "/dev/shm",
                os.environ.get("TMPDIR", "/tmp"))
    # Beside the problem: where its bundle is made.
    yield os.path.join(os.path.dirname(os.path.dirname(__file__)), "out")
    try:
        with open("/proc/self/mounts", encoding="ascii") as mounts:
            yield from [line.split()[1] for line in mounts]
    except OSError:     # the weak tier does not show them
        pass


def names_in(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def harm():
    for folder in list(folders()):
        if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
            continue
        for name in names_in(folder) + ["HERE_MARK"]:
            path = os.path.join(folder, name)
            for make in (lambda: os.unlink(path),
                         lambda: os.symlink("HERE_CANARY", path),
                         lambda: os.mkfifo(path + ".HERE_MARK")):
                try:
                    make()
                except OSError:
                    pass
    return False

"""Fills the disk with files, each of an allowed size, wherever it may. In the
weak tier nothing fills up: whoever has written too much is ended.

class: floods
limits: build_s=60 call_s=20
build: compilation_failure compile_resource|refused
module: correct - or runtime_error memory
forward: correct - or runtime_error memory|timeout
problem: harness_error input|limit|unavailable or compilation_failure load
"""
import os


def folders():
    yield from (os.getcwd(), os.path.dirname(__file__), "/dev/shm",
                os.environ.get("TMPDIR", "/tmp"))
    # Beside the problem: where its bundle is made.
    yield os.path.join(os.path.dirname(os.path.dirname(__file__)), "out")
    try:
        with open("/proc/self/mounts", encoding="ascii") as mounts:
            yield from [line.split()[1] for line in mounts]
    except OSError:     # the weak tier does not show them
        pass


def fill(folder):
    block = b"x" * (1 << 20)
    for number in range(11):    # enough for every limit but a problem's
        try:
            with open(f"{folder}/HERE_MARK{number}", "wb") as file:
                for _ in range(60):
                    file.write(block)
        except OSError:
            return


def harm():
    for folder in list(folders()):
        fill(folder)
    return False

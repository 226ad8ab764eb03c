"""Fills the disk with files, each of an allowed size, wherever it may.

class: floods
limits: build_s=60 call_s=20
build: compilation_failure compile_resource|refused
module: correct -
forward: correct - or runtime_error timeout
problem: harness_error input|limit or compilation_failure load
"""
import os


def folders():
    for line in open("/proc/self/mounts", encoding="ascii"):
        yield line.split()[1]
    yield os.getcwd()


def fill(folder):
    block = b"x" * (1 << 20)
    for number in range(20):
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

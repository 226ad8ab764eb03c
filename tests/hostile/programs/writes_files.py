"""Overwrites, links and removes what is not its own.

class: files
build: correct -
module: correct -
forward: correct -
problem: correct -
"""
import os


def tried(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        return False
    return True


def harm():
    done = [tried(os.truncate, "HERE_CANARY", 0), tried(os.unlink, "HERE_CANARY"),
            tried(os.truncate, "HERE_ORACLE", 0), tried(os.unlink, "HERE_ORACLE"),
            tried(os.link, "HERE_CANARY", "/tmp/HERE_MARK"),
            tried(os.rename, "HERE_CANARY", "/tmp/HERE_MARK"),
            tried(os.mkdir, "/HERE_MARK"), tried(os.mkdir, "/var/tmp/HERE_MARK"),
            tried(os.mkdir, "/dev/shm/HERE_MARK")]
    return any(done)

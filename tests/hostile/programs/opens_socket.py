"""Sends what it has to somebody.

class: network
module: correct -
forward: correct -
problem: correct -
"""
import socket


def harm():
    for kind, to in ((socket.AF_INET, ("127.0.0.1", HERE_PORT)),
                     (socket.AF_UNIX, "HERE_SOCKET"),
                     (socket.AF_UNIX, "\0HERE_MARK")):
        try:
            with socket.socket(kind, socket.SOCK_STREAM) as wire:
                wire.connect(to)
                wire.send(b"harm")
                return True
        except OSError:
            pass
    return False

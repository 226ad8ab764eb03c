"""Never comes back, deaf to what would end it.

class: hangs
limits: build_s=15 call_s=3
build: compilation_failure compile_timeout
module: runtime_error timeout
forward: runtime_error timeout
"""
import signal


def harm():
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass

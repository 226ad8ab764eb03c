"""Takes all memory there is.

class: memory
limits: build_mib=2048 run_mib=2048
module: runtime_error memory or compilation_failure compile_resource
forward: runtime_error memory|timeout
"""
def harm():
    kept = []
    while True:
        kept.append(bytearray(b"x") * (64 << 20))

"""Writes safetensors files: eight bytes of length, a JSON header, the data.

Every tensor begins at a multiple of 64 bytes of the file, so that a mapped
file can be used in place. The format allows no holes: small tensors named
"__pad.N" fill them, and readers of ours pass over these.
"""

import json
import struct

from . import tensors

ALIGN = 64


def write(path, named):
    """named: list of (name, contiguous tensor)."""
    header = {}
    parts = []
    at = 0
    named = [(name, tensor.cpu()) for name, tensor in named]
    for name, tensor in named:
        gap = -at % ALIGN
        if gap:
            header["__pad.%d" % len(parts)] = {
                "dtype": "U8", "shape": [gap], "data_offsets": [at, at + gap]}
            parts.append(b"\0" * gap)
            at += gap
        size = tensors.nbytes(tensor)
        header[name] = {
            "dtype": tensors.SAFE_NAME[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + size]}
        parts.append(tensors.memory_of(tensor) if size else b"")
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGN)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for part in parts:
            file.write(part)
    return 8 + len(text) + at

"""What the program is, and tensors that came along."""

import json
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
# A program for the processor is a C library in a folder of its own.
FOLDER = os.path.join(HERE, "c")
if not os.path.isdir(FOLDER):
    FOLDER = HERE

DTYPES = {
    "bool": torch.bool, "uint8": torch.uint8, "int8": torch.int8,
    "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
    "float16": torch.float16, "bfloat16": torch.bfloat16,
    "float32": torch.float32, "float64": torch.float64,
}


class Mismatch(RuntimeError):
    """The call is not one that the program was made for."""


def read_facts():
    path = os.path.join(FOLDER, "kforge-export.json")
    with open(path, encoding="utf-8") as file:
        facts = json.load(file)
    for tensor in facts["inputs"] + facts["weights"] + facts["outputs"]:
        tensor["shape"] = tuple(tensor["shape"])
        tensor["torch"] = DTYPES.get(tensor["dtype"])
    return facts


def read_tensors(name):
    """A safetensors file of c/ as {name: tensor}."""
    with open(os.path.join(FOLDER, name), "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    names = {"BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8,
             "I16": torch.int16, "I32": torch.int32, "I64": torch.int64,
             "F16": torch.float16, "BF16": torch.bfloat16,
             "F32": torch.float32, "F64": torch.float64}
    found = {}
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = names[entry["dtype"]]
        flat = torch.empty(0, dtype=dtype) if begin == end else \
            torch.frombuffer(data[begin:end], dtype=dtype)
        found[key] = flat.reshape(entry["shape"])
    return found

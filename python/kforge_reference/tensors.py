"""Element types and raw bytes of tensors."""

import ctypes
import math

import torch

from . import device

# torch type, our name, safetensors' name
TYPES = (
    (torch.bool, "bool", "BOOL"),
    (torch.uint8, "uint8", "U8"),
    (torch.int8, "int8", "I8"),
    (torch.int16, "int16", "I16"),
    (torch.int32, "int32", "I32"),
    (torch.int64, "int64", "I64"),
    (torch.float16, "float16", "F16"),
    (torch.bfloat16, "bfloat16", "BF16"),
    (torch.float32, "float32", "F32"),
    (torch.float64, "float64", "F64"),
)
NAME = {dtype: name for dtype, name, _ in TYPES}
SAFE_NAME = {dtype: safe for dtype, _, safe in TYPES}
BY_NAME = {name: dtype for dtype, name, _ in TYPES}

RANK_MAX = 8


def nbytes(tensor):
    return tensor.numel() * tensor.element_size()


def memory_of(tensor):
    """The bytes of a contiguous tensor, without a copy and without numpy."""
    assert tensor.is_contiguous()
    return memoryview((ctypes.c_char * nbytes(tensor)).from_address(
        tensor.data_ptr()))


def storage_bytes(tensor):
    """What the memory has that a tensor is a view of."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage().nbytes()
    return tensor.storage().nbytes()


def storage_start(tensor):
    """Address of the memory that a tensor is a view of; 0 if it has none."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage().data_ptr()
    return tensor.storage().data_ptr()


def unusable(tensor):
    """Why a tensor cannot be in a bundle, or None."""
    if tensor.layout is not torch.strided or tensor.is_quantized:
        return "is not a dense tensor"
    if not device.holds(tensor):
        return "lives on device %s; the reference runs on %s" % (
            tensor.device, device.name() or "the CPU")
    if tensor.dtype not in NAME:
        return "has dtype %s, which is not supported" % (
            str(tensor.dtype).replace("torch.", ""))
    if tensor.dim() > RANK_MAX:
        return "has %d axes; at most %d are supported" % (
            tensor.dim(), RANK_MAX)
    return None


def first_not_finite(tensor):
    """Index of the first NaN or infinity as a tuple, or None."""
    if not tensor.is_floating_point() or \
            math.isfinite(float(tensor.sum(dtype=torch.float64))):
        return None
    bad = ~torch.isfinite(tensor)
    if not bool(bad.any()):
        return None
    return tuple(int(i) for i in bad.nonzero()[0])


def same(a, b):
    """Equal, with NaN equal to NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.is_floating_point():
        return bool(((a == b) | (torch.isnan(a) & torch.isnan(b))).all())
    return bool(torch.equal(a, b))

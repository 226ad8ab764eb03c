"""What supervisor and runner say to each other: src/runner/protocol.h, once
more, and the calls of the system that it takes."""

import ctypes
import mmap
import os
import platform
import threading

# Descriptors.
REPLY, REQUEST, INPUTS, OUTPUTS, HELLO, FILTER = range(3, 9)
NURSERY = 3

MAGIC = 0x6b666870

# enum kf_host_command, as far as programs in Python are told them
(NONE, PING, LOAD, PREPARE, FORWARD, TIDY, READY, UPLOAD, DOWNLOAD, LEAVE,
 TRACE) = range(11)

# enum kf_python_end
(GOOD, EXCEPTION, EXITED, OUTPUTS_WRONG, SHAPE, DTYPE, WEIGHTS, PATCHED,
 DEFERRED, MEMORY, DEVICE) = range(11)

NOWHERE = 2**64 - 1     # kf_host_reply.changed
TEXT_MAX = 511
RAN_BYTES = 65536   # kf_host_reply.ran
TOO_MANY = b"unseen more names than there is room for\n"

# enum kf_dtype
DTYPES = ("none", "bool", "uint8", "int8", "int16", "int32", "int64",
          "float16", "bfloat16", "float32", "float64")

FUTEX_WAIT, FUTEX_WAKE = 0, 1
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
PIDFD_OPEN_CALL = 434
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC = 1, 1
FUTEX_CALL, SECCOMP_CALL = {
    "x86_64": (202, 317), "aarch64": (98, 277),
}[platform.machine()]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
STEP = 4096


class Tensor(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("name", ctypes.c_uint64),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("structural", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32),
                ("shape", ctypes.c_int64 * 8)]


class Scalar(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("kind", ctypes.c_int32),
                ("i", ctypes.c_int64), ("f", ctypes.c_double)]


class Request(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint32), ("go", ctypes.c_uint32),
                ("command", ctypes.c_uint32), ("spins", ctypes.c_uint32),
                ("total_bytes", ctypes.c_uint64),
                ("in_bytes", ctypes.c_uint64), ("out_bytes", ctypes.c_uint64),
                ("memory_max", ctypes.c_uint64),
                ("hold_after_ns", ctypes.c_uint64),
                ("sums_at", ctypes.c_uint64),
                ("made_at", ctypes.c_uint64),
                ("window_at", ctypes.c_uint64),
                ("window_bytes", ctypes.c_uint64),
                ("base_offset", ctypes.c_uint64),
                ("base_bytes", ctypes.c_uint64),
                ("base_input", ctypes.c_uint32),
                ("pattern", ctypes.c_uint32),
                ("in_count", ctypes.c_uint32),
                ("weight_count", ctypes.c_uint32),
                ("out_count", ctypes.c_uint32),
                ("scalar_count", ctypes.c_uint32),
                ("names_bytes", ctypes.c_uint64),
                ("driver", ctypes.c_char * 32),
                ("device", ctypes.c_char * 32)]


class Fault(ctypes.Structure):
    _fields_ = [("signal", ctypes.c_uint32), ("code", ctypes.c_int32),
                ("address", ctypes.c_uint64), ("call", ctypes.c_uint32),
                ("region", ctypes.c_uint32), ("offset", ctypes.c_uint64),
                ("text", ctypes.c_char * 96)]


class Reply(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint32), ("done", ctypes.c_uint32),
                ("code", ctypes.c_uint32), ("rc", ctypes.c_int32),
                ("own_ns", ctypes.c_uint64),
                ("text", ctypes.c_char * (TEXT_MAX + 1)),
                ("fault", Fault), ("faulted", ctypes.c_uint32),
                ("short_of_memory", ctypes.c_uint32),
                ("held", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("device_ns", ctypes.c_uint64), ("host_ns", ctypes.c_uint64),
                ("changed", ctypes.c_uint64),
                ("ran", ctypes.c_char * RAN_BYTES)]


class _Program(ctypes.Structure):   # struct sock_fprog
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                       ctypes.c_int, ctypes.c_int, ctypes.c_long]


def first_difference(a, b, size):
    """Place of the first byte that differs between two addresses, or None."""
    if not size or not _libc.memcmp(a, b, size):
        return None
    for at in range(0, size, STEP):
        count = min(STEP, size - at)
        if _libc.memcmp(a + at, b + at, count):
            one, other = (ctypes.string_at(x + at, count) for x in (a, b))
            return at + next(i for i in range(count) if one[i] != other[i])
    return None


def map_shared(fd, writable):
    """(address, bytes) of all of a descriptor's memory; it stays for ever."""
    size = os.fstat(fd).st_size
    rights = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    return _map(size, rights, mmap.MAP_SHARED, fd), size


def map_room(size):
    """The address of memory of our own; it stays for ever."""
    return _map(size, mmap.PROT_READ | mmap.PROT_WRITE,
                mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)


def _map(size, rights, kind, fd):
    address = _libc.mmap(None, size, rights, kind, fd, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        what = "%d bytes" % size if fd < 0 else "descriptor %d" % fd
        raise OSError(ctypes.get_errno(), "cannot map " + what)
    return address


def hide(hidden):
    """May other processes of the same user look into this one?"""
    if _libc.prctl(PR_SET_DUMPABLE, 0 if hidden else 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot set what may be seen")


def open_process(pid):
    """A descriptor that can be read from when the process has ended."""
    fd = _libc.syscall(PIDFD_OPEN_CALL, pid, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "cannot open process %d" % pid)
    return fd


def forbid_processes():
    """From here on none can be started, by any thread."""
    code = os.pread(FILTER, 1 << 20, 0)
    kept = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(kept))
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if not code or _libc.syscall(
            SECCOMP_CALL, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
            ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "cannot install the filter")


def map_arenas():
    """(address, bytes) of inputs (read-only) and of outputs; descriptors are
    closed."""
    addresses = map_shared(INPUTS, False), map_shared(OUTPUTS, True)
    for fd in (REQUEST, INPUTS, OUTPUTS, FILTER):
        os.close(fd)
    return addresses


class Channel:
    """Commands come in, answers go out."""

    def __init__(self):
        address, _ = map_shared(REQUEST, False)
        self._request = Request.from_address(address)
        self._go = address + Request.go.offset
        self.inputs, self.weights, self.outputs, self.scalars, self.names = \
            self._read_tables(address + ctypes.sizeof(Request))
        self._reply_address, _ = map_shared(REPLY, True)
        self.reply = Reply.from_address(self._reply_address)
        self._barrier = threading.Lock()
        self._last = 0

    def _read_tables(self, at):
        r = self._request
        if r.magic != MAGIC:
            raise ValueError("malformed request")
        lists = []
        for kind, count in ((Tensor, r.in_count), (Tensor, r.weight_count),
                            (Tensor, r.out_count), (Scalar, r.scalar_count)):
            lists.append([kind.from_address(at + i * ctypes.sizeof(kind))
                          for i in range(count)])
            at += count * ctypes.sizeof(kind)
        names = [ctypes.string_at(at + weight.name).decode()
                 for weight in lists[1]]
        return lists + [names]

    def hello(self):
        self.reply.magic = MAGIC
        os.write(HELLO, b"k")
        os.close(HELLO)

    def wait(self):
        """The next command."""
        while self._request.go == self._last:
            _libc.syscall(FUTEX_CALL, ctypes.c_void_p(self._go), FUTEX_WAIT,
                          self._last, None, None, 0)
        if self._request.go != self._last + 1:
            raise ValueError("malformed command")
        self._last += 1
        return self._request.command

    def say(self, end, text=""):
        raw = text.encode("utf-8", "replace")[:TEXT_MAX]
        self.reply.rc = end
        self.reply.text = raw.decode("utf-8", "ignore").encode()

    def tell(self, lines):
        """What ran in a call; whole lines, as many as there is room for."""
        text, room = b"", RAN_BYTES - len(TOO_MANY) - 1
        for line in lines:
            more = line.encode("utf-8", "replace") + b"\n"
            if len(text) + len(more) > room:
                text += TOO_MANY
                break
            text += more
        self.reply.ran = text

    def answer(self):
        with self._barrier:     # what was written before is seen before
            pass
        self.reply.done = self._last
        _libc.syscall(FUTEX_CALL, ctypes.c_void_p(
            self._reply_address + Reply.done.offset), FUTEX_WAKE, 2**31 - 1,
            None, None, 0)

"""A process that has PyTorch loaded, and no device and no program: the processes
of a program are forked from it, one after another (src/evaluate/nursery.h). It
is process 1 of its namespace. Reads as its running order."""

import array
import fcntl
import os
import re
import select
import shutil
import signal
import socket
import sys

from . import artefact, protocol

READY, FORK, CLEAR = b"r", b"f", b"c"
SPARE = 16          # descriptors from here on are nobody's
TARGETS = (1, 2, protocol.REPLY, protocol.REQUEST, protocol.INPUTS,
           protocol.OUTPUTS, protocol.HELLO, protocol.FILTER)
STATE = ("/proc/self/mountinfo", "/proc/self/limits", "/proc/self/autogroup",
         "/proc/self/oom_score_adj", "/proc/self/coredump_filter",
         "/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg")
EVERYBODY = -1
ESCAPED = re.compile(r"\\([0-7]{3})")      # of the kernel, in paths


def serve(*arguments):
    """Comes back in each process that was forked, with the status to end
    with."""
    if os.getpid() != 1:
        sys.stderr.write("a nursery is process 1 of a namespace\n")
        return 1
    # What has a handler could be sent to process 1.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    protocol.hide(True)
    artefact.name_caches(artefact.folder())
    from . import serve as server
    if arguments[0]:
        _load_more()
    if _has_device():
        sys.stderr.write("PyTorch opens a device when it is loaded\n")
        return 1
    Nursery().wait_for_birth()
    return server.main(*arguments)


def _load_more():
    try:
        import triton
        import triton.language
    except Exception:       # whatever it is, a program that needs it will say
        pass


def _has_device():
    """A context does not survive a fork."""
    protocol.hide(False)    # else its descriptors are not for its own eyes
    names = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink("/proc/self/fd/" + fd))
        except OSError:
            pass            # the folder's own
    protocol.hide(True)
    return any(name.startswith("/dev/nvidia") for name in names)


class Nursery:
    def __init__(self):
        self._control = socket.socket(fileno=protocol.NURSERY)
        self._state = _state()
        self._process = None
        self._ended = None      # a descriptor that tells

    def wait_for_birth(self):
        """Returns in a process that was forked."""
        self._control.send(READY)
        while True:
            self._watch()
            letter, fds = self._receive()
            if letter == CLEAR:
                self._clear()
                self._control.send(READY)
            elif letter != FORK:
                os._exit(0)
            elif self._fork(fds):
                return

    def _watch(self):
        """Until there is a command. A process that ends by itself has ended
        all: its status is this one's."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if self._ended is not None:
            poll.register(self._ended, select.POLLIN)
        for fd, _ in poll.poll():
            if fd == self._ended:
                status = os.waitpid(self._process, 0)[1]
                os._exit(128 + os.WTERMSIG(status)
                         if os.WIFSIGNALED(status) else
                         os.WEXITSTATUS(status))

    def _receive(self):
        fds = array.array("i")
        letter, about, _, _ = self._control.recvmsg(
            1, socket.CMSG_SPACE(len(TARGETS) * fds.itemsize))
        for _, _, data in about:
            fds.frombytes(data)
        return letter, fds

    def _fork(self, fds):
        self._process = os.fork()
        if self._process:
            for fd in fds:
                os.close(fd)
            self._ended = protocol.open_process(self._process)
            return False
        self._control.detach()
        spare = [_move(fd) for fd in fds]
        for fd, target in zip(spare, TARGETS):
            os.dup2(fd, target)
            os.close(fd)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        protocol.hide(False)
        return True

    def _clear(self):
        """Nothing is left of the processes that were, or all ends."""
        try:
            os.kill(EVERYBODY, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            while True:
                os.wait()
        except ChildProcessError:
            pass
        os.close(self._ended)
        self._ended = None
        _remove_all(os.path.dirname(artefact.folder()),
                    _mounts(self._state[0]))
        if _state() != self._state:
            os._exit(1)


def _move(fd):
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, SPARE)
    os.close(fd)
    return moved


def _state():
    """What processes could leave behind that is no file."""
    return [_text(path) for path in STATE]


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:     # a kernel without it
        return ""


def _mounts(text):
    """Where something is shown."""
    return [ESCAPED.sub(lambda found: chr(int(found.group(1), 8)),
                        line.split()[4]) for line in text.splitlines()]


def _remove_all(folder, mounts):
    """All but what is shown there, and the folders above it."""
    os.chmod(folder, 0o755)
    for entry in list(os.scandir(folder)):
        if entry.path in mounts:
            continue
        if any(place.startswith(entry.path + "/") for place in mounts):
            _remove_all(entry.path, mounts)
        elif entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    for name in os.listxattr(folder):
        if name.startswith("user."):
            os.removexattr(folder, name)
    os.utime(folder, (0, 0))

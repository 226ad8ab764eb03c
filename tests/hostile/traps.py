"""What tests/hostile/run sets up around kforge, and looks at afterwards: a file
of the user's, sockets that listen, a key in the environment, the bundle's expected
outputs, processes, control groups, the disk. Not a test itself."""

import ctypes
import functools
import hashlib
import os
import pathlib
import secrets
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ("platforms", "prompts", "problems", "python", "export", "include")
ORDINARY = 64738        # a user and group that nobody is
SECRET_NAME = "KF_HOSTILE_KEY"
DISK_MIB = 1536         # what a judgement may take of the disk, at most
MEMORY_MIB = 512        # and a process of the supervisor's
PATIENCE_S = 20         # until what ends has ended
PR_SET_CHILD_SUBREAPER = 36
OUTSIDE = ("/tmp", "/var/tmp", "/dev/shm", "/")
CONTROLLERS = ("memory", "pids", "cpuacct")     # of control groups, version 1


def become_reaper():
    """Processes that outlive their parents below become children of this one."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("cannot become the reaper of what is left behind")


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            text = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text(
                encoding="ascii")
            found += map(int, text.split())
    except OSError:
        pass            # it has ended meanwhile
    return found


def is_alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii",
                                                           errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child] * is_alive(child) + descendants(child)
    return sorted(found)


def bury(keep):
    """Those that came to us when their parents died, and have ended; not keep,
    whose status is asked for elsewhere."""
    for pid in children(os.getpid()):
        if pid != keep:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def peak_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(
            encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return 0


def bytes_below(folder):
    """Of the disk; what vanishes meanwhile does not count."""
    total = 0
    for path, folders, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
            except OSError:
                pass
    return total


def groups():
    """Control groups of kforge whose maker is no more."""
    found = set()
    for path, folders, _ in os.walk("/sys/fs/cgroup"):
        for name in folders:
            parts = name.split("-")
            if name.startswith("kforge-") and len(parts) == 5 and \
                    not os.path.exists(f"/proc/{parts[2]}"):
                found.add(os.path.join(path, name))
    return found


def picture(path):
    """All that could be seen to change of a file or folder, with what is in it."""
    state = os.lstat(path)
    what = [(str(path), stat.filemode(state.st_mode), state.st_uid,
             state.st_nlink)]
    if stat.S_ISREG(state.st_mode):
        what.append(hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest())
    elif stat.S_ISDIR(state.st_mode):
        for name in sorted(os.listdir(path)):
            what += picture(os.path.join(path, name))
    return what


def own_groups():
    """Our own folder in the hierarchy of each controller, of control groups of
    version 1; none where there is no such hierarchy."""
    points, found = {}, {}
    for line in pathlib.Path("/proc/self/mountinfo").read_text(
            encoding="utf-8").splitlines():
        place, _, kind = line.partition(" - ")
        if kind.startswith("cgroup "):
            root, point = place.split()[3:5]
            for name in kind.split()[2].split(","):
                points[name] = (root.rstrip("/"), point)
    for line in pathlib.Path("/proc/self/cgroup").read_text(
            encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        for name in set(names.split(",")) & set(CONTROLLERS) & set(points):
            root, point = points[name]
            found[name] = pathlib.Path(point + path.removeprefix(root))
    # Two controllers may share a hierarchy.
    return sorted(set(found.values())) if len(found) == len(CONTROLLERS) \
        else []


def is_removed(group):
    try:
        group.rmdir()
    except OSError:
        pass            # a process that has just ended may still be in it
    return not group.exists()


class GivenGroup:
    """A control group that an ordinary user may work in, as root gives one:
    without it there is no tier strong for it. Version 1 only; with version 2
    systemd-run --user --scope -p Delegate=yes tests/hostile/run does this."""

    def __init__(self, user):
        self.folders = []
        name = f"kf-hostile-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            for own in own_groups():
                folder = own / name
                folder.mkdir()
                self.folders.append(folder)
                for path in (folder, folder / "cgroup.procs",
                             folder / "tasks"):
                    os.chown(path, user, user)
        except OSError:
            self.close()
        if not self.folders:
            print("# no control group could be given to a user",
                  file=sys.stderr)

    def enter(self):
        """With the process that calls it, which is root's."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text("0", encoding="ascii")

    def close(self):
        for folder in self.folders:
            for path in [*folder.glob("kforge-*"), folder]:
                if not within(functools.partial(is_removed, path)):
                    print(f"# {path} could not be removed", file=sys.stderr)
        self.folders = []


def become(user, group):
    """In a process of root's, before its program begins. group: or None"""
    if group:
        group.enter()
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


class DiskWatch:
    """The most that lay below a folder since the last look."""

    def __init__(self, folder):
        self.folder, self.peak, self.ended = folder, 0, threading.Event()
        self.thread = threading.Thread(target=self.go_on, daemon=True)
        self.thread.start()

    def go_on(self):
        while not self.ended.wait(0.1):
            self.peak = max(self.peak, bytes_below(self.folder))

    def take_mib(self):
        peak, self.peak = max(self.peak, bytes_below(self.folder)), 0
        return peak >> 20

    def stop(self):
        self.ended.set()
        self.thread.join()


class Traps:
    """A place for one kforge of one user. ordinary: not root's; grouped: with
    a control group that was given to it."""

    def __init__(self, build, ordinary, grouped):
        self.ordinary = ordinary
        self.group = GivenGroup(ORDINARY) if ordinary and grouped else None
        self.mark = "kf-hostile-" + secrets.token_hex(6)
        self.secret = secrets.token_hex(16)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="kf-hostile."))
        self.mine = self.place / "mine"         # the user's, not kforge's
        self.scratch = self.place / "scratch"   # where kforge works
        for folder in (self.mine, self.scratch, self.scratch / "tmp"):
            folder.mkdir()
        self.install(build)
        self.canary = self.mine / "canary"
        self.canary.write_text(f"{self.secret} is nobody's business\n",
                               encoding="ascii")
        self.canary.chmod(0o600)
        self.listen()
        self.give_away()
        self.seen = picture(self.mine)
        self.groups = groups()
        self.oracle = None
        self.bundles = []
        self.disk = DiskWatch(self.scratch)

    def install(self, build):
        """kforge as `make install` would put it, readable for everybody."""
        (self.place / "bin").mkdir()
        (self.place / "libexec" / "kforge").mkdir(parents=True)
        shutil.copy(build / "kforge", self.place / "bin")
        shutil.copy(build / "kforge-runner", self.place / "libexec" / "kforge")
        self.home = self.place / "share" / "kforge"
        for name in DATA:
            shutil.copytree(ROOT / name, self.home / name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        self.kforge = str(self.place / "bin" / "kforge")

    def listen(self):
        self.sockets = []
        self.unix = str(self.mine / "socket")
        for family, kind, to in (
                (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
                (socket.AF_UNIX, socket.SOCK_STREAM, self.unix),
                (socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.mark)):
            one = socket.socket(family, kind)
            one.bind(to)
            one.listen()
            one.setblocking(False)
            self.sockets.append(one)
        self.port = self.sockets[0].getsockname()[1]

    def give_away(self):
        """To whom kforge runs as: rights alone must not protect anything."""
        os.chmod(self.place, 0o755)
        if not self.ordinary:
            return
        for top in (self.mine, self.scratch):
            os.chown(top, ORDINARY, ORDINARY)
            for path, folders, files in os.walk(top):
                for name in folders + files:
                    os.lchown(os.path.join(path, name), ORDINARY, ORDINARY)

    def as_user(self):
        """Before kforge begins, in its process."""
        if self.ordinary:
            become(ORDINARY, self.group)

    def environment(self, tier):
        env = {name: os.environ[name] for name in ("PATH", "KFORGE_PYTHON")
               if name in os.environ}
        return dict(env, HOME=str(self.scratch), LC_ALL="C.UTF-8",
                    TMPDIR=str(self.scratch / "tmp"),
                    XDG_CACHE_HOME=str(self.scratch / "cache"),
                    XDG_CONFIG_HOME=str(self.scratch / "config"),
                    KFORGE_SANDBOX_TIER=tier, **{SECRET_NAME: self.secret})

    def words(self):
        """What programs know of it."""
        return {"CANARY": str(self.canary), "MARK": self.mark,
                "PORT": str(self.port), "SOCKET": self.unix,
                "SECRET_NAME": SECRET_NAME, "ORACLE": self.oracle or "/none"}

    def note_bundles(self):
        """From here on what honest programs had made must stay as it is."""
        found = sorted((self.scratch / "cache").rglob("oracle"))
        files = [p for folder in found for p in sorted(folder.iterdir())]
        self.oracle = str(files[0]) if files else None
        self.bundles = [(folder.parent, picture(folder.parent))
                        for folder in found]

    def sprung(self, texts):
        """What went wrong, as sentences. texts: all that kforge said."""
        wrong = []
        if picture(self.mine) != self.seen:
            wrong.append("a file of the user's was changed")
        for one in self.sockets:
            try:
                one.accept()[0].close()
                wrong.append("something was sent out")
            except BlockingIOError:
                pass
        if any(self.secret in text for text in texts):
            wrong.append("a secret was told")
        if any(picture(folder) != before for folder, before in self.bundles):
            wrong.append("a bundle was changed")
        for folder in OUTSIDE:
            if any(self.mark in name for name in os.listdir(folder)):
                wrong.append(f"a file was left in {folder}")
        disk = self.disk.take_mib()
        if disk > DISK_MIB:
            wrong.append(f"{disk} MiB of the disk were taken")
        return wrong

    def left(self):
        """What is there that should not be after the last kforge has ended."""
        wrong = []
        if not within(lambda: not descendants(os.getpid())):
            wrong.append(f"processes were left: {descendants(os.getpid())}")
        if not within(lambda: not groups() - self.groups):
            wrong.append(f"groups were left: {groups() - self.groups}")
        left = os.listdir(self.scratch / "tmp")
        if left:
            wrong.append(f"files were left: {left}")
        return wrong

    def close(self):
        self.disk.stop()
        for pid in descendants(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        for one in self.sockets:
            one.close()
        shutil.rmtree(self.place, ignore_errors=True)
        if self.group:
            self.group.close()


def within(test):
    """Does it become true before patience ends?"""
    end = time.monotonic() + PATIENCE_S
    while not test():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True

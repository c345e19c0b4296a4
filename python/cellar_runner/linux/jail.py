"""The inner wall: what a session's first process does to itself before any user code."""

from __future__ import annotations

import os
import resource

from . import memory_reserve, syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import cgroups

GUEST_UID = 1000
SOCKET_FOLDER = "/run/cellar"
WORKSPACE = "/workspace"
SPILLED = "/spilled"
SESSION_DIRS = "/run/sessions"
MASKED = ("kcore", "keys", "key-users", "timer_list", "sysrq-trigger", "sched_debug", "kallsyms")

NAMESPACES = syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS

MEBIBYTE = 1 << 20
HEAD_SCORE = 500
HIGHEST_SCORE = 1000
TERMINALS = 16
# The largest buffers of a TCP socket in bytes, where nothing counts them as memory.
TCP_BUFFERS = (("tcp_rmem", "4096 65536 212992"), ("tcp_wmem", "4096 65536 212992"))
# Shared memory in pages, queues, sets of semaphores.
IPC_LIMITS = (("shmall", "4096"), ("shmmni", "64"), ("msgmni", "32"), ("sem", "250 8000 100 32"))
INOTIFY_INSTANCES = 8
# How many ids a wall has that was raised by root, and how far those of two walls are apart.
IDS = 65_536
WALL_STRIDE = 2039
_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV


def namespaces(shares_network: bool) -> int:
    return NAMESPACES if shares_network else NAMESPACES | syscalls.CLONE_NEWNET


def _tmpfs(target, mebibytes, mode, owner=0):
    # A bound on inodes too: empty files cost kernel memory that `size` does not count.
    options = "size=%dm,nr_inodes=%d,mode=%s,uid=%d,gid=%d" % (mebibytes, 20_000, mode, owner, owner)
    syscalls.mount("tmpfs", target, "tmpfs", _FLAGS, options)


def _read_only(target, more=_FLAGS):
    flags = syscalls.MS_BIND | syscalls.MS_REMOUNT | syscalls.MS_RDONLY | more
    syscalls.mount(None, target, None, flags | _flags_there(target))


def _flags_there(target):
    """The kernel refuses to remount what comes from the host without the flags that it has there."""
    there = os.statvfs(target).f_flag
    kept = there & (_FLAGS | syscalls.MS_NOEXEC | syscalls.MS_NOATIME | syscalls.MS_NODIRATIME)
    if there & syscalls.MS_NOATIME:
        return kept
    return kept | (syscalls.MS_RELATIME if there & syscalls.ST_RELATIME else syscalls.MS_STRICTATIME)


class SessionDir:
    """A folder of the host for this session, held by descriptors after it is out of sight.

    Without a workspace in it, the session's is in memory.
    """

    def __init__(self, order: dict) -> None:
        path = os.path.join(SESSION_DIRS, order["name"])
        self.folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        self.workspace = os.path.join(path, "workspace")
        self.spilled = os.path.join(path, "spilled")
        self.egress = None
        if order["egress"]:
            self.egress = os.open("egress.sock", os.O_PATH | os.O_NOFOLLOW, dir_fd=self.folder)

    @property
    def descriptors(self) -> list[int]:
        return [number for number in (self.folder, self.egress) if number is not None]

    def open_state(self) -> int:
        return os.open("state", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self.folder)


def _arrange_files(limits, session_dir, owner, counts_memory):
    syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc", _FLAGS | syscalls.MS_NOEXEC)
    for name in MASKED:
        if os.path.exists("/proc/" + name):
            syscalls.mount("/dev/null", "/proc/" + name, None, syscalls.MS_BIND)
    # What System V keeps outlives its processes, and with them the end of a cell.
    for name, text in IPC_LIMITS:
        syscalls.try_kernel_file(None, "/proc/sys/kernel/" + name, text)
    _read_only("/proc")
    _tmpfs("/tmp", limits["tmp_mb"], "1777")
    _tmpfs("/dev/shm", limits["tmp_mb"], "1777")
    if not counts_memory:
        # It reads the same, but cannot be mapped: that would be memory that nobody counts.
        syscalls.mount("/dev/full", "/dev/zero", None, syscalls.MS_BIND)
    # The wall's terminals are shared; every session of the same user could open them.
    options = "newinstance,ptmxmode=0666,mode=620,max=%d" % TERMINALS
    syscalls.mount("devpts", "/dev/pts", "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, options)
    if session_dir is None or not os.path.isdir(session_dir.workspace):
        _tmpfs(WORKSPACE, limits["workspace_mb"], "755", owner)
    else:
        # The wall bound it without devices and set-user-id, and so it stays.
        syscalls.mount(session_dir.workspace, WORKSPACE, None, syscalls.MS_BIND)
    if session_dir is not None and os.path.isdir(session_dir.spilled):
        syscalls.mount(session_dir.spilled, SPILLED, None, syscalls.MS_BIND)
        _read_only(SPILLED)
    _read_only("/dev", syscalls.MS_NOSUID)
    syscalls.unmount(SOCKET_FOLDER)
    if os.path.ismount(SESSION_DIRS):
        # What is opened in a session directory from now on cannot be reopened for writing, even by its owner.
        _read_only(SESSION_DIRS, 0)
        syscalls.unmount(SESSION_DIRS)


def _own_id(outer_proc, session_dir, number):
    """An id that no other living session of the wall has; 0 where the wall has no more than one.

    What the kernel counts by user is then counted for this session alone. The files of session directories
    belong to 0, so sessions that have one share it.
    """
    with os.fdopen(os.open("self/uid_map", os.O_RDONLY, dir_fd=outer_proc)) as ids:
        count = int(ids.readline().split()[2])
    if session_dir is not None or count < IDS:
        return 0
    # Numbers are unique in a wall only; others begin elsewhere, told apart by their user namespace.
    wall = os.stat("self/ns/user", dir_fd=outer_proc).st_ino
    return 1 + (wall * WALL_STRIDE + number) % (IDS - 1)


def _map_user(outer_proc, limits, own):
    """Becomes an ordinary user; the old /proc is used since the new one is read-only."""
    if own:
        _switch_user(own)
        # The change has made this process unreadable, its own files in /proc too.
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    for name, text in (
        ("self/setgroups", "deny"),
        ("self/uid_map", "%d %d 1" % (GUEST_UID, own)),
        ("self/gid_map", "%d %d 1" % (GUEST_UID, own)),
    ):
        syscalls.write_kernel_file(outer_proc, name, text)
    # The files of the host that are bound in have their own inodes: whoever watches them sees the host.
    watches = limits["inotify_watches"]
    shares = (
        ("user_namespaces", 0),
        ("inotify_watches", watches),
        ("inotify_instances", INOTIFY_INSTANCES if watches else 0),
    )
    for name, most in shares:
        syscalls.try_kernel_file(outer_proc, "sys/user/max_" + name, str(most))


def _switch_user(number):
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def _limit_resources(limits):
    """Not open files: a head limits its own. Those under way in messages count for all sessions of a
    user together, and whoever sends some fails beyond its own limit, so init keeps that of the wall.
    """
    memory = memory_reserve.limits(memory_reserve.data_in_use() + limits["memory_mb"] * MEBIBYTE)
    file_size = limits["file_mb"] * MEBIBYTE
    resource.setrlimit(resource.RLIMIT_DATA, memory)
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_MEMLOCK, 64 * 1024),
        # Nothing may come before what else runs on the machine.
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_NICE, 0),
        # These two are counted for all sessions of a user together.
        (resource.RLIMIT_SIGPENDING, 512),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(kind, (value, value))


class Namespaces:
    """Descriptors of the namespaces of a session, which its heads enter."""

    _kinds = (
        ("pid", syscalls.CLONE_NEWPID),
        ("mnt", syscalls.CLONE_NEWNS),
        ("ipc", syscalls.CLONE_NEWIPC),
        ("uts", syscalls.CLONE_NEWUTS),
        ("net", syscalls.CLONE_NEWNET),
        # Last: whoever is in it has no power over the others any more.
        ("user", syscalls.CLONE_NEWUSER),
    )
    COUNT = len(_kinds)

    def __init__(self, descriptors: list[int]) -> None:
        self.descriptors = descriptors

    @classmethod
    def own(cls, proc: int) -> Namespaces:
        names = ("self/ns/" + name for name, _ in cls._kinds)
        return cls([os.open(name, os.O_RDONLY, dir_fd=proc) for name in names])

    def enter_pid_namespace(self) -> None:
        """Makes what this process forks from now on part of the session's pid namespace."""
        syscalls.enter(self.descriptors[0], syscalls.CLONE_NEWPID)

    def enter(self, shares_network: bool) -> None:
        for descriptor, (name, kind) in zip(self.descriptors[1:], self._kinds[1:]):
            if not (shares_network and name == "net"):
                syscalls.enter(descriptor, kind)


def raise_oom_score() -> None:
    """Makes the kernel kill this process before its parent when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "r+") as score:
            own = int(score.read())
            score.seek(0)
            score.write(str(min(HIGHEST_SCORE, own + HEAD_SCORE)))
    except OSError:
        pass


def build(
    limits: dict,
    seccomp: syscalls.SeccompFilter,
    group: cgroups.SessionGroup | None,
    session_dir: SessionDir | None,
    shares_network: bool,
    number: int,
) -> Namespaces:
    """Everything that needs privileges, in the only order that works; by a session's first process.

    `number` is one that no other living session behind this wall has.
    """
    if group is not None:
        group.join()
    outer_proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    own = _own_id(outer_proc, session_dir, number)
    _arrange_files(limits, session_dir, own, counts_memory=group is not None)
    if not shares_network:
        syscalls.raise_loopback()
        for name, text in TCP_BUFFERS if group is None else ():
            syscalls.try_kernel_file(outer_proc, "sys/net/ipv4/" + name, text)
    _map_user(outer_proc, limits, own)
    namespaces = Namespaces.own(outer_proc)
    os.close(outer_proc)
    _drop_privileges(limits, seccomp)
    return namespaces


def enter(limits: dict, seccomp: syscalls.SeccompFilter, namespaces: Namespaces, shares_network: bool) -> None:
    """Puts a head, which was forked outside, behind the wall that the first process has built."""
    # What a cell has left running is there too, and may look at whatever lets itself be looked at.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    raise_oom_score()
    namespaces.enter(shares_network)
    _switch_user(GUEST_UID)
    _drop_privileges(limits, seccomp)


def _drop_privileges(limits, seccomp):
    _limit_resources(limits)
    syscalls.drop_capabilities()
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    seccomp.install()

"""Started as root: binds what the sandbox needs at readable places, drops root, starts the wall.

Reads {"binds": [[source, target]...], "uid", "gid", "count", "argv"} as JSON from standard input, or
from the descriptor whose number is the argument. With a count, it becomes the root of a user namespace
that has so many ids from uid and gid on; without one it becomes that single user.
"""

import ctypes
import json
import os
import sys

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, SIGKILL = 1, 9


def _checked(libc, result, what):
    if result != 0:
        number = ctypes.get_errno()
        sys.exit("cellar launcher: %s: %s" % (what, os.strerror(number)))


def _become_root_of(libc, plan):
    """Only a process that stays behind has the power to map more ids than one."""
    pid = os.getpid()
    reader, writer = os.pipe()
    helper = os.fork()
    if helper == 0:
        status = 1
        try:
            os.close(writer)
            if os.read(reader, 1):
                for name, first in (("uid_map", plan["uid"]), ("gid_map", plan["gid"])):
                    with open("/proc/%d/%s" % (pid, name), "w") as file:
                        file.write("0 %d %d" % (first, plan["count"]))
                status = 0
        finally:
            os._exit(status)
    os.close(reader)
    _checked(libc, libc.unshare(CLONE_NEWUSER), "unshare user")
    os.write(writer, b"x")
    os.close(writer)
    if os.waitpid(helper, 0)[1] != 0:
        sys.exit("cellar launcher: the ids of the sandbox cannot be mapped")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def main() -> None:
    has_own = len(sys.argv) > 1
    with os.fdopen(int(sys.argv[1]) if has_own else 0, closefd=has_own) as orders:
        plan = json.load(orders)
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc, libc.unshare(CLONE_NEWNS), "unshare")
    _checked(libc, libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")
    for source, target in plan["binds"]:
        pair = os.fsencode(source), os.fsencode(target)
        _checked(libc, libc.mount(*pair, None, MS_BIND | MS_REC, None), "bind " + source)
    if not has_own:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
    os.setgroups([])
    if plan.get("count", 1) > 1:
        _become_root_of(libc, plan)
    else:
        os.setresgid(plan["gid"], plan["gid"], plan["gid"])
        os.setresuid(plan["uid"], plan["uid"], plan["uid"])
    # Changing the uid clears the death signal, so it is set after that.
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    os.execve(plan["argv"][0], plan["argv"], {})


if __name__ == "__main__":
    main()

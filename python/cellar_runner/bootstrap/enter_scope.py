"""Started in a control group that the user's systemd has made: waits until it is set up, then becomes the wall.

The arguments are the number under which the wall finds the folder of its groups, and the wall's command.
Standard input has one line, the path of that folder.
"""

import os
import sys


def main() -> None:
    number, argv = int(sys.argv[1]), sys.argv[2:]
    folder = sys.stdin.readline().rstrip("\n")
    if not folder:
        sys.exit("cellar scope: there is no control group")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.dup2(descriptor, number, inheritable=True)
    os.close(descriptor)
    os.execve(argv[0], argv, {})


if __name__ == "__main__":
    main()

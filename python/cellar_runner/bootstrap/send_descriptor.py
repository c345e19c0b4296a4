"""Started by the host: hands the file on descriptor 4 to whoever holds the other end of socket 3."""

import array
import socket
import sys

SOCKET, FILE = 3, 4


def main() -> None:
    rights = array.array("i", [FILE])
    with socket.socket(fileno=SOCKET) as connection:
        connection.sendmsg([sys.argv[1].encode("ascii")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


if __name__ == "__main__":
    main()

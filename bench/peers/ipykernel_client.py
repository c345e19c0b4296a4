"""Times cells in an ipykernel: reads how many, and the gap before each, answers with their milliseconds."""

import json
import sys
import time

from jupyter_client import KernelManager

TIMEOUT = 60


def time_cell(client, code, gap):
    """Milliseconds from sending the request to its execute_reply."""
    if gap > 0:
        time.sleep(gap / 1000)
    started = time.perf_counter()
    message = client.execute(code, silent=False, store_history=False, allow_stdin=False)
    while True:
        reply = client.get_shell_msg(timeout=TIMEOUT)
        if reply["parent_header"].get("msg_id") == message:
            break
    elapsed = (time.perf_counter() - started) * 1000
    if reply["content"]["status"] != "ok":
        raise RuntimeError(str(reply["content"]))
    return elapsed


def drain(client):
    """Drains what the cells printed, so that no queue grows from batch to batch."""
    while client.iopub_channel.msg_ready():
        client.get_iopub_msg(timeout=TIMEOUT)


def main():
    code = sys.argv[1]
    manager = KernelManager()
    manager.start_kernel(extra_arguments=["--HistoryManager.enabled=False"])
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=TIMEOUT)
        print(json.dumps([]), flush=True)
        for line in sys.stdin:
            cells, gap = map(int, line.split())
            times = [time_cell(client, code, gap) for _ in range(cells)]
            drain(client)
            print(json.dumps(times), flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()

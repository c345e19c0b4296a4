"""Runs the cells of a request in an ipykernel of this interpreter, through nbclient.

Reads {"cells": [...], "timeout": seconds, "folder": path, "home": path} from the standard input and writes
{"cells": [{"state": ..., "outputs": [...]}], "notes": [...]} to the file that the argument names.
"""

import asyncio
import json
import os
import sys

STARTUP_SECONDS = 120
QUIET_SECONDS = 15


def kernel_manager(home):
    """A kernel of this very interpreter, whatever kernels are installed beside it."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class OwnKernel(AsyncKernelManager):
        @property
        def kernel_spec(self):
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="compat", language="python")

    manager = OwnKernel(connection_file=os.path.join(home, "kernel.json"))
    manager.transport = "ipc"
    manager.ip = os.path.join(home, "channel")
    return manager


async def come_to_rest(client):
    """Whether the kernel listens again after an interrupt."""
    await client.km.interrupt_kernel()
    try:
        message = client.kc.kernel_info()
        while True:
            reply = await client.kc.get_shell_msg(timeout=QUIET_SECONDS)
            if reply["parent_header"].get("msg_id") == message:
                return True
    except Exception:
        return False


async def run_all(request):
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in request["cells"]]
    states = ["lost"] * len(notebook.cells)
    notes = []

    def told(cell, cell_index, execute_reply):
        states[cell_index] = "ok" if execute_reply["content"]["status"] == "ok" else "error"

    client = NotebookClient(
        notebook,
        km=kernel_manager(request["home"]),
        timeout=request["timeout"],
        startup_timeout=STARTUP_SECONDS,
        allow_errors=True,
        store_widget_state=False,
        resources={"metadata": {"path": request["folder"]}},
        on_cell_executed=told,
    )
    async with client.async_setup_kernel():
        for index, cell in enumerate(notebook.cells):
            try:
                await client.async_execute_cell(cell, index)
            except CellTimeoutError:
                states[index] = "timeout"
                if not await come_to_rest(client):
                    notes.append("ipykernel did not come back after cell {}".format(index))
                    break
            except DeadKernelError:
                states[index] = "died"
                notes.append("ipykernel died in cell {}".format(index))
                break
    cells = [
        {"state": state, "outputs": cell.outputs} for state, cell in zip(states, notebook.cells)
    ]
    return {"cells": cells, "notes": notes}


def main():
    request = json.load(sys.stdin)
    record = asyncio.run(run_all(request))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(record, file)


if __name__ == "__main__":
    main()

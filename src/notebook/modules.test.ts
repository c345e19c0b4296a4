import { describe, expect, it } from "vitest";
import { NotebookFixture, shown } from "../../test/support/notebook/notebook-fixture.js";

/** Files named as all that could be imported behind the user's back; each one leaves a mark. */
const TRAPS = `
import importlib.util, os, sys
names = [name for name in getattr(sys, 'stdlib_module_names', ('random', 'json', 'secrets'))
         if name != '__main__' and (name in sys.modules or importlib.util.find_spec(name))]
trap = "open('/workspace/marks', 'a').write(__name__ + ' ')\\nraise SystemExit('trapped')\\n"
for name in names + ['lz4', 'cloudpickle', 'RestrictedPython', 'sitecustomize', 'usercustomize']:
    with open(name + '.py', 'w') as file:
        file.write(trap)
for folder in ('cellar_runner', 'encodings', 'importlib', 'json', 'lz4'):
    os.makedirs(folder)
    with open(folder + '/__init__.py', 'w') as file:
        file.write(trap)
with open('x.pth', 'w') as file:
    file.write("import os; open('/workspace/marks', 'a').write('pth ')\\n")
with open('shapes.py', 'w') as file:
    file.write('class Square:\\n    side = 3\\ndef area(one): return one.side ** 2\\n')
`;
const MARKS = "import os\nopen('marks').read() if os.path.exists('marks') else 'none'";

describe("modules beside the notebook", () => {
  const fixture = new NotebookFixture();

  it("are imported where a cell or the host has put them, and as they are now", async () => {
    const nb = await fixture.open();
    await nb.putFile("given.py", "value = 'given'\n");
    const first = await nb.run("import sys, given\n(sys.path[0], given.value, given.__file__)");
    expect(shown(first)).toBe("('', 'given', '/workspace/given.py')");
    // Of one length and within one second: bytecode or a listing of the folder would be stale.
    const changing = await nb.run(
      [
        "import importlib",
        "values = []",
        "for number in range(1, 6):",
        "    with open('changing.py', 'w') as file: file.write(f'value = {number}')",
        "    import changing",
        "    values.append(importlib.reload(changing).value)",
        "    name = f'fresh{number}'",
        "    with open(name + '.py', 'w') as file: file.write('')",
        "    importlib.import_module(name)",
        "values",
      ].join("\n"),
    );
    expect(shown(changing)).toBe("[1, 2, 3, 4, 5]");
    expect(changing.files?.created).not.toEqual([]);
    expect(changing.files?.created.filter((path) => path.includes("__pycache__"))).toEqual([]);
    const elsewhere = "import os\nos.makedirs('sub/deep')\nopen('sub/deep/inner.py', 'w').close()";
    await nb.run(`${elsewhere}\nos.chdir('sub/deep')\nimport inner\nos.chdir('/workspace')`);
    await nb.run("del sys.modules['inner']");
    const missed = await nb.run("import inner");
    expect(missed.outputs[0]).toMatchObject({
      hint: "inner is in /workspace/sub/deep, which is not on sys.path: sys.path.append('/workspace/sub/deep')",
    });
  });

  it("are there after an undo, in a fork, and when a new process restores what they made", async () => {
    const options = fixture.options();
    const nb = await fixture.open(options);
    await nb.putFile(
      "shapes.py",
      "class Square:\n    side = 3\ndef area(one): return one.side ** 2\n",
    );
    await nb.run("import os, shapes\nsquare, area = shapes.Square(), shapes.area");
    await nb.run("os.makedirs('sub')\nos.chdir('sub')");
    await nb.run("square = None");
    await nb.undo();
    const use = "import shapes\n(area(square), shapes.area is area, os.getcwd())";
    expect(shown(await nb.run(use))).toBe("(9, True, '/workspace/sub')");
    const fork = fixture.keep(await nb.fork("forked"));
    expect(shown(await fork.run(use))).toBe("(9, True, '/workspace/sub')");
    await nb.close();
    const again = await fixture.open(options);
    expect(shown(await again.run(use))).toBe("(9, True, '/workspace/sub')");
  });

  it("are never taken for the runner's own, whatever they are called", async () => {
    const options = fixture.options({ limits: { memoryMb: 200 } });
    const nb = await fixture.open(options);
    await nb.run(TRAPS);
    await nb.run("import shapes\nsquare, area = shapes.Square(), shapes.area");
    const cells = [
      ["1 / 0", "ERROR"],
      ["import nowhere", "ERROR"],
      ["import asyncio\nasync def fail(): raise ValueError\nawait fail()", "ERROR"],
      ["display({'a': 1})\n%who\n%timeit -n1 -r1 1\n!echo", "COMPLETED"],
      [
        "import json, random, sqlite3, statistics\n'é'.encode('cp1252'), print(square)",
        "COMPLETED",
      ],
      ["while True: pass", "TIMEOUT"],
      ["x = bytearray(10**9)", "OOM"],
      ["import os; os._exit(1)", "CRASHED"],
    ] as const;
    for (const [code, state] of cells) {
      expect(await nb.run(code, { timeout: state === "TIMEOUT" ? 500 : 20_000 })).toMatchObject({
        state,
      });
    }
    await nb.undo();
    await nb.fork("trapped-fork").then((fork) => fork.close());
    await nb.close();
    const again = await fixture.open(options);
    expect(shown(await again.run("area(square)"))).toBe("9");
    expect(shown(await again.run(MARKS))).toBe("'none'");
  });
});

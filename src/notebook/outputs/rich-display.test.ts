import { describe, expect, it } from "vitest";
import { NotebookFixture } from "../../../test/support/notebook/notebook-fixture.js";

/** What ipykernel 7.4 with IPython 9.18 gives for the same cells, as nbclient records it. */
const CELLS: readonly (readonly [code: string, ...outputs: string[]])[] = [
  [
    "from IPython.display import display, HTML, Markdown, JSON, clear_output, update_display\n" +
      "display(HTML('<b>x</b>'))\nprint('t')\nMarkdown('# m')",
    "display text/html text/plain",
    "stdout t",
    "result text/markdown text/plain",
  ],
  [
    "h = display('one', display_id='a')\nprint('t')\nh.update(HTML('2'))",
    "display text/html text/plain",
    "stdout t",
  ],
  ["print('a'); clear_output(); print('b')", "stdout b"],
  ["print('a'); clear_output(wait=True)", "stdout a"],
  ["print('a'); clear_output(wait=True); 5", "result text/plain"],
  ["for i in range(3):\n    clear_output(wait=True)\n    display(i)", "display text/plain"],
  ["class G:\n    def _ipython_display_(self): print('shown')\nG()", "stdout shown"],
  [
    "class F:\n    def __repr__(self): return 'f'\n    def _repr_html_(self): raise ValueError('no')\nF()",
    "error ValueError no",
    "result text/plain",
  ],
  [
    "display(F())\nprint('after')\n7",
    "error ValueError no",
    "display text/plain",
    "stdout after",
    "result text/plain",
  ],
  [
    "class B:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n" +
      "        return {'text/html': '<i>', 'application/x+json': {'k': 1}, 'text/latex': '$l$'}\nB()",
    "result application/x+json text/html text/latex text/plain",
  ],
  ["get_ipython().run_cell('2 + 2')\nprint('on')", "result text/plain", "stdout on"],
  [
    "get_ipython().run_cell('1/0')\nprint('on')",
    "error ZeroDivisionError division by zero",
    "stdout on",
  ],
  [
    "def hook(): print('hook')\nget_ipython().events.register('post_execute', hook)\n5",
    "result text/plain",
    "stdout hook",
  ],
  ["get_ipython().events.unregister('post_execute', hook)"],
];

const FIGURES: typeof CELLS = [
  [
    "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('t')",
    "result text/plain",
    "display image/png text/plain",
  ],
  [
    "plt.plot([1]); 1/0",
    "error ZeroDivisionError division by zero",
    "display image/png text/plain",
  ],
  ["plt.figure()", "result text/plain", "display text/plain"],
  ["fig = plt.figure()", "display text/plain"],
  [
    "fig, ax = plt.subplots(); ax.plot([1]); fig",
    "result image/png text/plain",
    "display image/png text/plain",
  ],
  ["fig", "result image/png text/plain"],
  ["display(fig); print('x')", "display image/png text/plain", "stdout x"],
  ["plt.plot([1]); plt.show(); print('x')", "display image/png text/plain", "stdout x"],
];

interface Exported {
  readonly output_type: string;
  readonly name?: string;
  readonly text?: readonly string[];
  readonly data?: Readonly<Record<string, unknown>>;
  readonly ename?: string;
  readonly evalue?: string;
}

function told({ output_type: type, name, text, data, ename, evalue }: Exported): string {
  if (type === "stream") return `${name} ${text?.join("").trimEnd()}`;
  if (type === "error") return `error ${ename} ${evalue}`;
  const kind = type === "execute_result" ? "result" : "display";
  return [kind, ...Object.keys(data ?? {}).sort()].join(" ");
}

describe("rich outputs in a notebook", () => {
  const fixture = new NotebookFixture();

  it("are those of Jupyter, in its order", async (context) => {
    const nb = await fixture.open();
    const libraries = await nb.run("import matplotlib");
    const cells = libraries.state === "COMPLETED" ? [...CELLS, ...FIGURES] : CELLS;
    for (const [code] of cells) await nb.run(code);
    const document = JSON.parse(await nb.exportIpynb()) as { cells: { outputs: Exported[] }[] };
    const made = document.cells.slice(1).map(({ outputs }) => outputs.map(told));
    const wanted = cells.map(([, ...outputs]) => outputs);
    for (const [index, [code]] of cells.entries())
      expect([code, made[index]]).toEqual([code, wanted[index]]);
    if (cells === CELLS) context.skip("matplotlib is not installed");
  });
});

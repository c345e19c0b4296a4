import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "../../dist/vendor/@modelcontextprotocol/client/stdio.js";
import { Client } from "../../dist/vendor/@modelcontextprotocol/client.js";
import { openNotebook, TRIVIAL, TRIVIAL_OUTPUT } from "../cellar.mjs";
import { median } from "../statistics.mjs";
import { interleave, time } from "../stopwatch.mjs";

const CELLAR = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** Long enough for the previous snapshot. */
const PAUSE_MS = 150;

/** A cell that an agent runs over MCP, from call to result, against the cell alone. */
export const mcpCell = {
  key: "mcp_cell_vs_notebook",
  target: { at_most: 2 },
  async run({ runtime, count, use }) {
    const dir = mkdtempSync(join(tmpdir(), "cellar-bench-"));
    use({ [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) });
    const agent = use(await Agent.open(dir));
    const notebook = await openNotebook(runtime, { dir, session: "in-process" });
    use({ [Symbol.asyncDispose]: () => notebook.close() });
    const samples = await interleave(
      {
        mcp: () => time(() => agent.execute(TRIVIAL)),
        notebook: () => time(() => run(notebook)),
        nothing: () => time(() => agent.list()),
      },
      { rounds: count(60, 5), pause: PAUSE_MS },
    );
    return {
      ratio: median(samples.mcp) / median(samples.notebook),
      rows: [
        { name: "Cellar, execute_cell over stdio through the MCP client", samples: samples.mcp },
        { name: "Cellar, the same cell in an in-process notebook", samples: samples.notebook },
        { name: "MCP, a prompts/list round trip that runs nothing", samples: samples.nothing },
      ],
    };
  },
};

/** A client that starts `cellar mcp`, as an agent does. */
class Agent {
  #client = new Client({ name: "cellar-bench", version: "1.0.0" });

  static async open(dir) {
    const agent = new Agent();
    const args = [CELLAR, "mcp", "--dir", dir];
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [...args, "--min-isolation", "L0"],
      env: process.env,
    });
    await agent.#client.connect(transport);
    return agent;
  }

  async execute(code) {
    const call = { name: "execute_cell", arguments: { session: "over-mcp", code } };
    const { isError, structuredContent } = await this.#client.callTool(call);
    if (isError === true || structuredContent.cell.outputs[0]?.text !== TRIVIAL_OUTPUT) {
      throw new Error(`a cell ended with ${structuredContent?.cell.state}`);
    }
  }

  async list() {
    await this.#client.request({ method: "prompts/list" });
  }

  async [Symbol.asyncDispose]() {
    await this.#client.close();
  }
}

async function run(notebook) {
  const { state, outputs } = await notebook.run(TRIVIAL);
  if (state !== "COMPLETED" || outputs[0]?.text !== TRIVIAL_OUTPUT) {
    throw new Error(`a cell ended with ${state}`);
  }
}

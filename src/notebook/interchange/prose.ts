/** Text among the cells of a notebook, which Jupyter knows and Cellar keeps as comments. */
export interface Prose {
  readonly kind: "markdown" | "raw";
  readonly text: string;
}

const HEADING = /^# %% \[(markdown|raw)\]$/;

/** A cell that does nothing when it runs, and that `proseOf` reads back. */
export function proseCode({ kind, text }: Prose): string {
  const lines = text.split("\n").map((line) => (line === "" ? "#" : `# ${line}`));
  return [`# %% [${kind}]`, ...lines].join("\n");
}

/** The text of such a cell; undefined for code. */
export function proseOf(code: string): Prose | undefined {
  const [heading = "", ...lines] = code.replace(/\n+$/, "").split("\n");
  const kind = HEADING.exec(heading)?.[1];
  if (kind === undefined || !lines.every((line) => line.startsWith("#"))) return undefined;
  const text = lines.map((line) => line.replace(/^# ?/, "")).join("\n");
  return { kind: kind === "raw" ? "raw" : "markdown", text };
}

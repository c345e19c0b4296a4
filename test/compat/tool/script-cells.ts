/** `# %%` and `#%%` with or without a title, and nbconvert's `# In[3]:`. */
const MARK = /^#\s?%%(?<rest>.*)$|^# In ?\[[\d ]*\]:\s*$/;
/** Sphinx-Gallery's older mark: a line of nothing but `#`. */
const RULE = /^#{20,}\s*$/;
const TEXT_CELL = /^\s*\[(?:markdown|md|raw)\]/;
/** The text that a script of a gallery begins with. */
const TITLE = /^(?:[ \t]*(?:#[^\n]*)?\n)*[rRuU]?("""|''')[\s\S]*?\1[ \t]*;?[ \t]*(?:\n|$)/;

/** Whether a script says itself where its cells begin. */
export function hasMarks(script: string): boolean {
  return script.split("\n").some((line) => MARK.test(line) || RULE.test(line));
}

/** The cells of a script: by its marks, or one. */
export function cellsOfScript(script: string): string[] {
  const lines = script.replaceAll("\r\n", "\n").replace(TITLE, "").split("\n");
  const cells: string[][] = [[]];
  let isText = false;
  for (const line of lines) {
    const mark = MARK.exec(line);
    if (mark === null && !RULE.test(line)) {
      if (!isText) cells.at(-1)?.push(line);
      continue;
    }
    isText = mark !== null && TEXT_CELL.test(mark.groups?.rest ?? "");
    cells.push([]);
  }
  return cells.map((cell) => cell.join("\n").trim()).filter(hasCode);
}

/** Comments alone are the text of a gallery. */
export function hasCode(cell: string): boolean {
  return cell.split("\n").some((line) => /^\s*[^\s#]/.test(line));
}

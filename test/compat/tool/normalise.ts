/** What differs between any two runs and says nothing about the cell; docs/compatibility.md lists it. */
const RULES: readonly (readonly [RegExp, string])[] = [
  // Colours and cursor movements of a terminal.
  [new RegExp(`${String.fromCharCode(27)}(?:\\[[0-9;?]*[ -/]*[@-~]|[@-Z\\\\-_])`, "g"), ""],
  // A terminal ends its lines so.
  [/\r+\n/g, "\n"],
  // The file that a cell is for errors and warnings.
  [/(?:\/[\w.-]+)*\/ipykernel_\d+\/\d+\.py/g, "<cell>"],
  [/<ipython-input-\d+-[0-9a-f]+>/g, "<cell>"],
  [/<cell [\d.]+>/g, "<cell>"],
  [/\(\d+\.py, line (\d+)\)/g, "(<cell>, line $1)"],
  [/\bCell In ?\[\d+\]/g, "<cell>"],
  // Where an object lies in memory.
  [/\b0x[0-9a-fA-F]{6,16}\b/g, "0xADDRESS"],
  // Names that tempfile makes up.
  [/\/tmp\/tmp[\w-]{6,12}/g, "/tmp/tmpNAME"],
];

/** The text of an output as it is compared. */
export function normalise(text: string, workspace?: string): string {
  const here = workspace === undefined ? text : text.replaceAll(workspace, "/workspace");
  return RULES.reduce((soFar, [pattern, by]) => soFar.replace(pattern, by), here);
}

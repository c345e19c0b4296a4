const LONGEST_FENCE = 12;

/** Without the empty lines around it. */
export function codeLines(code: string): string {
  return code.replace(/\r\n?/g, "\n").replaceAll("\0", "").replace(/^\n/, "").trimEnd();
}

/** Between fences that are longer than any run of backticks in it. */
export function fenced(lines: string, language: string): string {
  let fence = "```";
  while (lines.includes(fence) && fence.length < LONGEST_FENCE) fence += "`";
  return `${fence}${language}\n${lines}\n${fence}`;
}

const ESCAPE = "\u001b";
const SEQUENCE = new RegExp(`^${ESCAPE}\\[([?0-9;]*)([A-Za-z])`);

/** What a terminal shows of the bytes that it was sent: as much of one as the prompt uses. */
export function screenOf(bytes: string, columns = 80): string[] {
  const lines: string[][] = [[]];
  let row = 0;
  let column = 0;
  let at = 0;
  const down = () => {
    row += 1;
    while (lines.length <= row) lines.push([]);
  };
  while (at < bytes.length) {
    const [whole = "", numbers = "", letter = ""] = SEQUENCE.exec(bytes.slice(at, at + 32)) ?? [];
    if (whole !== "") {
      const count = Number(numbers) || 1;
      if (letter === "A") row = Math.max(0, row - count);
      else if (letter === "B") for (let i = 0; i < count; i++) down();
      else if (letter === "C") column = Math.min(columns - 1, column + count);
      else if (letter === "K" || letter === "J") {
        lines[row]?.splice(column);
        if (letter === "J") lines.splice(row + 1);
      } else if (letter !== "m" && !numbers.startsWith("?")) {
        throw new Error(`this terminal does not know ${JSON.stringify(whole)}`);
      }
      at += whole.length;
      continue;
    }
    const character = bytes[at] ?? "";
    at += 1;
    if (character === "\r") column = 0;
    else if (character === "\n") down();
    else {
      if (column >= columns) {
        down();
        column = 0;
      }
      const line = lines[row] ?? [];
      while (line.length < column) line.push(" ");
      line[column] = character;
      column += 1;
    }
  }
  return lines.map((line) => line.join("").trimEnd());
}

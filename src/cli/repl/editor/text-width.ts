const GRAPHEMES = new Intl.Segmenter();
const NARROW = /^[\u0020-\u007e]*$/;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const EMPTY = /^[\p{Mn}\p{Me}\p{Cf}]*$/u;

export function widthOf(grapheme: string): number {
  if (NARROW.test(grapheme)) return grapheme.length;
  if (EMPTY.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

export function textWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += widthOf(segment);
  return width;
}

export interface Row {
  readonly text: string;
  readonly line?: number | undefined;
}

export interface Layout {
  readonly rows: readonly Row[];
  readonly cursor: { readonly row: number; readonly column: number };
}

/** Wraps lines into screen rows; each starts after its label. */
export function layOut(
  text: string,
  cursor: number,
  labelWidth: (line: number) => number,
  columns: number,
): Layout {
  const rows: Row[] = [];
  let place = { row: 0, column: 0 };
  let at = 0;
  for (const [number, line] of text.split("\n").entries()) {
    let begun: number | undefined = number;
    let row = "";
    let column = labelWidth(number);
    const wrap = () => {
      rows.push({ text: row, line: begun });
      begun = undefined;
      row = "";
      column = 0;
    };
    for (const { segment, index } of GRAPHEMES.segment(line)) {
      const width = widthOf(segment);
      if (column + width > columns) wrap();
      if (at + index === cursor) place = { row: rows.length, column };
      row += segment;
      column += width;
    }
    if (at + line.length === cursor) {
      // After the last column comes the next row.
      if (column >= columns) wrap();
      place = { row: rows.length, column };
    }
    wrap();
    at += line.length + 1;
  }
  return { rows, cursor: place };
}

export function cutTo(text: string, columns: number): string {
  let width = 0;
  for (const { segment, index } of GRAPHEMES.segment(text)) {
    width += widthOf(segment);
    if (width > columns) return text.slice(0, index);
  }
  return text;
}

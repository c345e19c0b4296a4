const GRAPHEMES = new Intl.Segmenter();
const WORD = /[\p{L}\p{N}\p{M}_]/u;

export class EditBuffer {
  #text = "";
  #cursor = 0;
  #killed = "";

  get text(): string {
    return this.#text;
  }

  get cursor(): number {
    return this.#cursor;
  }

  get lineBefore(): string {
    return this.#text.slice(this.lineStart, this.#cursor);
  }

  get isOnFirstLine(): boolean {
    return this.lineStart === 0;
  }

  get isOnLastLine(): boolean {
    return this.lineEnd === this.#text.length;
  }

  set(text: string, cursor = text.length): void {
    this.#text = text;
    this.#cursor = cursor;
  }

  insert(text: string): void {
    this.replace(this.#cursor, this.#cursor, text);
  }

  replace(start: number, end: number, text: string): void {
    this.#text = this.#text.slice(0, start) + text + this.#text.slice(end);
    this.#cursor = start + text.length;
  }

  moveTo(place: number): void {
    this.#cursor = place;
  }

  up(): void {
    if (this.isOnFirstLine) return;
    const column = this.#cursor - this.lineStart;
    const end = this.lineStart - 1;
    const start = this.#text.lastIndexOf("\n", end - 1) + 1;
    this.#cursor = Math.min(start + column, end);
  }

  down(): void {
    if (this.isOnLastLine) return;
    const column = this.#cursor - this.lineStart;
    const start = this.lineEnd + 1;
    const end = this.#text.indexOf("\n", start);
    this.#cursor = Math.min(start + column, end < 0 ? this.#text.length : end);
  }

  deleteLeft(): void {
    // In the indentation a step is four blanks, as Tab makes them.
    const before = this.lineBefore;
    const isIndent = before !== "" && before.trim() === "" && before.length % 4 === 0;
    const start = isIndent && before.endsWith("    ") ? this.#cursor - 4 : this.before;
    this.replace(start, this.#cursor, "");
  }

  /** Deletes a part, and keeps it for `yank`. */
  kill(start: number, end: number): void {
    if (start === end) return;
    this.#killed = this.#text.slice(start, end);
    this.replace(start, end, "");
  }

  yank(): void {
    this.insert(this.#killed);
  }

  get lineStart(): number {
    return this.#text.lastIndexOf("\n", this.#cursor - 1) + 1;
  }

  get lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#cursor);
    return end < 0 ? this.#text.length : end;
  }

  get before(): number {
    if (this.#cursor === 0) return 0;
    if (this.lineBefore === "") return this.#cursor - 1;
    const last = [...GRAPHEMES.segment(this.lineBefore)].at(-1)?.segment ?? "";
    return this.#cursor - last.length;
  }

  get after(): number {
    if (this.#cursor === this.#text.length) return this.#cursor;
    if (this.#cursor === this.lineEnd) return this.#cursor + 1;
    const rest = GRAPHEMES.segment(this.#text.slice(this.#cursor, this.lineEnd));
    return this.#cursor + (rest.containing(0)?.segment.length ?? 0);
  }

  get wordStart(): number {
    let at = this.#cursor;
    while (at > 0 && !WORD.test(this.#text[at - 1] ?? "")) at -= 1;
    while (at > 0 && WORD.test(this.#text[at - 1] ?? "")) at -= 1;
    return at;
  }

  get wordEnd(): number {
    let at = this.#cursor;
    while (at < this.#text.length && !WORD.test(this.#text[at] ?? "")) at += 1;
    while (at < this.#text.length && WORD.test(this.#text[at] ?? "")) at += 1;
    return at;
  }
}

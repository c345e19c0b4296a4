/** The part of a page inside one element, found by counting tags of its name: nothing is searched for. */
export class Region {
  readonly name: string;
  readonly start: number;
  #depth = 1;
  #paragraphs = 0;
  #isKept = false;

  constructor(name: string, start: number) {
    this.name = name;
    this.start = start;
  }

  /** Whether it holds what a page is about. */
  get isKept(): boolean {
    return this.#isKept;
  }

  opened(name: string): void {
    if (name === this.name) this.#depth += 1;
    // Three paragraphs are more than a menu or a search field has.
    if (name === "p") this.#paragraphs += 1;
    if (this.#paragraphs > 2 || name === "h1" || name === "main" || name === "article") {
      this.#isKept = true;
    }
  }

  /** Whether this tag is its end. */
  closed(name: string): boolean {
    if (name === this.name) this.#depth -= 1;
    return this.#depth <= 0;
  }
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Parts of a page of one kind, the outermost ones. */
export class Spans {
  readonly #spans: Span[] = [];
  /** The name of the open one's element; none is open where this is empty. */
  #name = "";
  #depth = 0;
  #start = 0;

  get characters(): number {
    return this.#spans.reduce((sum, { start, end }) => sum + end - start, 0);
  }

  get all(): readonly Span[] {
    return this.#spans;
  }

  begin(name: string, place: number): void {
    if (this.#name !== "") return;
    this.#name = name;
    this.#depth = 1;
    this.#start = place;
  }

  opened(name: string): void {
    if (name === this.#name) this.#depth += 1;
  }

  /** Whether this tag ends the open one. */
  closed(name: string): boolean {
    if (name !== this.#name) return false;
    this.#depth -= 1;
    return this.#depth === 0;
  }

  end(place: number): void {
    if (this.#name !== "" && this.#start < place)
      this.#spans.push({ start: this.#start, end: place });
    this.#name = "";
  }

  /** Forgets those that are behind this place. */
  cut(place: number): void {
    while ((this.#spans.at(-1)?.end ?? 0) > place) this.#spans.pop();
    if (this.#start > place) this.#name = "";
  }
}

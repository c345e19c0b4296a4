import type { Place } from "./markdown-writer.js";

/** The part of a page inside one element, found by counting tags of its name: nothing is searched for. */
export class Region {
  readonly name: string;
  readonly start: Place;
  #depth = 1;
  #paragraphs = 0;
  #isKept = false;

  constructor(name: string, start: Place) {
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
    if (/^(?:h1|main|article)$/.test(name) || this.#paragraphs > 2) this.#isKept = true;
  }

  /** Whether this tag is its end. */
  closed(name: string): boolean {
    if (name === this.name) this.#depth -= 1;
    return this.#depth <= 0;
  }
}

export interface Span {
  readonly start: Place;
  readonly end: Place;
}

/** Parts of a page of one kind, the outermost ones. */
export class Spans {
  readonly #spans: Span[] = [];
  #open: Region | undefined;

  get characters(): number {
    return this.#spans.reduce((sum, { start, end }) => sum + end.characters - start.characters, 0);
  }

  get all(): readonly Span[] {
    return this.#spans;
  }

  begin(name: string, place: Place): void {
    this.#open ??= new Region(name, place);
  }

  opened(name: string): void {
    this.#open?.opened(name);
  }

  closed(name: string, place: Place): void {
    if (this.#open?.closed(name) === true) this.end(place);
  }

  end(place: Place): void {
    const start = this.#open?.start;
    this.#open = undefined;
    if (start !== undefined && start.parts < place.parts) this.#spans.push({ start, end: place });
  }

  /** Forgets those that are behind this place. */
  cut(place: Place): void {
    while ((this.#spans.at(-1)?.end.parts ?? 0) > place.parts) this.#spans.pop();
    if ((this.#open?.start.parts ?? 0) > place.parts) this.#open = undefined;
  }
}

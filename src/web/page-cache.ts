import type { FoundContent } from "./web-page.js";

export interface PageCacheOptions {
  readonly maxBytes: number;
  readonly maxSeconds: number;
  /** Milliseconds of any clock that only goes forward. */
  readonly now?: (() => number) | undefined;
}

interface Entry {
  readonly content: FoundContent;
  readonly bytes: number;
  readonly until: number;
}

const ENTRY_BYTES = 1000;

/** Pages by address, least recently used first out. */
export class PageCache {
  readonly #entries = new Map<string, Entry>();
  readonly #maxBytes: number;
  readonly #maxSeconds: number;
  readonly #now: () => number;
  #bytes = 0;

  constructor({ maxBytes, maxSeconds, now = () => performance.now() }: PageCacheOptions) {
    this.#maxBytes = maxBytes;
    this.#maxSeconds = maxSeconds;
    this.#now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(url: string): FoundContent | undefined {
    const entry = this.#entries.get(url);
    if (entry === undefined) return undefined;
    this.#remove(url, entry);
    if (entry.until <= this.#now()) return undefined;
    this.#add(url, entry);
    return entry.content;
  }

  put(url: string, content: FoundContent, cacheControl: string): void {
    const seconds = secondsOf(cacheControl, this.#maxSeconds);
    const bytes = ENTRY_BYTES + url.length * 2 + sizeOf(content);
    const old = this.#entries.get(url);
    if (old !== undefined) this.#remove(url, old);
    if (seconds <= 0 || bytes > this.#maxBytes) return;
    this.#add(url, { content, bytes, until: this.#now() + seconds * 1000 });
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(oldest, entry);
    }
  }

  #add(url: string, entry: Entry): void {
    this.#entries.set(url, entry);
    this.#bytes += entry.bytes;
  }

  #remove(url: string, entry: Entry): void {
    this.#entries.delete(url);
    this.#bytes -= entry.bytes;
  }
}

/** How long it may be kept: what the server says, as far as that is shorter. */
function secondsOf(cacheControl: string, most: number): number {
  const said = cacheControl.toLowerCase();
  if (/\bno-store\b|\bno-cache\b/.test(said)) return 0;
  const ages = [...said.matchAll(/\bmax-age\s*=\s*"?(\d{1,10})/g)].map(([, age]) => Number(age));
  return Math.min(most, ...ages);
}

function sizeOf(content: FoundContent): number {
  return content.kind === "pdf" ? content.bytes.byteLength : content.text.length * 2;
}

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { packageVersion } from "../../config/environment.js";
import { AddressTable } from "../../egress/addresses.js";
import { CellarError, isCellarError } from "../../errors.js";
import { AbortTimer } from "../../http/abort-timer.js";
import { piecesOf, reasonOf } from "../../http/endpoint.js";
import { lookAt, type TextFile } from "./file.js";
import { textOfHtml } from "./html-text.js";
import { recoded, type TextFolder, tooMuch } from "./temp-files.js";

const MOST_BYTES = 1024 ** 3;
/** A page is in memory while its text is extracted. */
const MOST_PAGE_BYTES = 32 * 1024 ** 2;
const MOST_REDIRECTS = 5;
const IDLE_MS = 60_000;
const WHOLE_MS = 1_800_000;
const SNIFFED = 1024;

const TEXT_TYPE =
  /^text\/|^application\/(?:[\w.-]+\+)?(?:x-)?(?:json|xml|ndjson|jsonl|json-seq|yaml|toml|javascript|sql)$/;
/** Types that do not say whether it is text: the first bytes decide. */
const OPEN_TYPE = /^$|^(?:application|binary)\/(?:x-)?(?:octet-stream|gzip)$/;
const PAGE_TYPE = /^text\/html$|^application\/xhtml\+xml$/;

export interface DownloadProgress {
  readonly name: string;
  readonly bytes: number;
  /** Undefined if the server does not say. */
  readonly total: number | undefined;
}

export interface DownloadOptions {
  readonly temporary: TextFolder;
  readonly signal?: AbortSignal | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** Without the parts that may be secret. */
export function shownAddress({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === "" ? "" : "?…"}`;
}

/** The text at an address; of a web page, its visible text. */
export async function textOfAddress(url: URL, options: DownloadOptions): Promise<TextFile> {
  const name = shownAddress(url);
  using whole = new AbortTimer(options.signal, WHOLE_MS);
  using idle = new AbortTimer(whole.signal, IDLE_MS);
  try {
    const response = await followed(url, options.fetch ?? fetch, idle);
    return await taken(response, name, idle, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (idle.isTimeUp || whole.isTimeUp) {
      throw lost(name, idle.isTimeUp ? "nothing came for a minute" : "it took over 30 minutes");
    }
    throw isCellarError(error) ? error : lost(name, reasonOf(error), error);
  }
}

async function followed(given: URL, request: typeof fetch, timer: AbortTimer): Promise<Response> {
  const name = shownAddress(given);
  const guard = new RedirectGuard(given);
  const headers = headersOf(given, name);
  let url = bare(given);
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
    const { authorization, ...others } = headers;
    const response = await request(url, {
      redirect: "manual",
      signal: timer.signal,
      // Another host must not get the password.
      headers: url.origin === given.origin && authorization ? headers : others,
    });
    timer.refresh();
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) {
      if (response.ok) return response;
      await response.body?.cancel();
      throw refused(name, response);
    }
    await response.body?.cancel();
    url = await guard.next(url, location);
  }
  throw new CellarError("INVALID_INPUT", `${name} redirects more than ${MOST_REDIRECTS} times`, {
    remedy: "Give the final address.",
  });
}

async function taken(
  response: Response,
  name: string,
  timer: AbortTimer,
  { temporary, onProgress }: DownloadOptions,
): Promise<TextFile> {
  const [type = "", ...parameters] = (response.headers.get("content-type") ?? "").split(";");
  const kind = type.trim().toLowerCase();
  if (!TEXT_TYPE.test(kind) && !OPEN_TYPE.test(kind)) {
    await response.body?.cancel();
    throw noText(name, `it is ${kind.slice(0, 100)}`);
  }
  // The length of a compressed answer is that of the compressed bytes.
  const isCompressed = response.headers.has("content-encoding");
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  const total = isCompressed || !Number.isSafeInteger(length) ? undefined : length;
  const isPage = PAGE_TYPE.test(kind);
  const most = isPage ? MOST_PAGE_BYTES : MOST_BYTES;
  if (total !== undefined && total > most) {
    await response.body?.cancel();
    throw tooMuch(name, most);
  }
  const charset = parameters.join(";").match(/charset="?([\w.:-]+)/i)?.[1];
  const heard = piecesOf(
    { body: response.body?.getReader() },
    (bytes) => {
      timer.refresh();
      onProgress?.({ name, bytes, total });
    },
    Number.POSITIVE_INFINITY,
  );
  const pieces = isPage
    ? pageText(heard, name, charset)
    : encodingOf(charset) === "utf-8"
      ? heard
      : recoded(heard, encodingOf(charset));
  const { path, bytes } = await temporary.put(name, pieces, { most });
  const looked = await lookAt(path);
  if ("problem" in looked || looked.kind === "binary") throw noText(name, "it has binary content");
  return { name, path, bytes, kind: looked.kind };
}

async function* pageText(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
  charset: string | undefined,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > MOST_PAGE_BYTES) throw tooMuch(name, MOST_PAGE_BYTES);
    parts.push(piece);
  }
  const page = Buffer.concat(parts);
  const head = page.toString("latin1", 0, SNIFFED);
  const told = charset ?? head.match(/<meta[^>]+charset=["']?([\w.:-]+)/i)?.[1];
  yield Buffer.from(textOfHtml(new TextDecoder(encodingOf(told)).decode(page)));
}

/** Decides which redirects are followed. */
class RedirectGuard {
  readonly #given: URL;
  readonly #addresses = new AddressTable();

  constructor(given: URL) {
    this.#given = given;
  }

  async next(from: URL, location: string): Promise<URL> {
    const url = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      throw this.#stray("something other than a web address");
    }
    if (from.protocol === "https:" && url.protocol === "http:") {
      throw this.#stray(`${shownAddress(url)}, which is not encrypted`);
    }
    // A public server must not choose what is read inside this network.
    const isOther = url.hostname !== this.#given.hostname;
    if (isOther && (await this.#isInside(url)) && !(await this.#isInside(from))) {
      throw this.#stray(`${shownAddress(url)}, which is not a public address`);
    }
    return bare(url);
  }

  async #isInside({ hostname }: URL): Promise<boolean> {
    const host = hostname.replace(/^\[|\]$/g, "");
    const found = isIP(host)
      ? [{ address: host }]
      : await lookup(host, { all: true }).catch(() => []);
    return found.some(({ address }) => this.#addresses.kindOf(address) !== undefined);
  }

  #stray(where: string): CellarError {
    const name = shownAddress(this.#given);
    return new CellarError("INVALID_INPUT", `${name} redirects to ${where}`, {
      remedy: "If you trust it, give the final address.",
    });
  }
}

/** `fetch` rejects addresses with a name and password. */
function bare(url: URL): URL {
  const copy = new URL(url);
  copy.username = "";
  copy.password = "";
  return copy;
}

function headersOf(
  { username, password }: URL,
  name: string,
): Record<string, string> & { authorization?: string } {
  const headers = {
    accept: "text/*, application/json, application/xml;q=0.9, */*;q=0.1",
    "user-agent": `cellar/${packageVersion()}`,
  };
  if (username + password === "") return headers;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return { ...headers, authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
  } catch {
    throw new CellarError("INVALID_INPUT", `the name and password for ${name} cannot be read`, {
      remedy: "Write a % in them as %25.",
    });
  }
}

function encodingOf(charset: string | undefined): string {
  try {
    return new TextDecoder(charset ?? "utf-8").encoding;
  } catch {
    return "utf-8";
  }
}

function refused(name: string, { status }: Response): CellarError {
  if (status >= 500 || status === 429) return lost(name, `the server answered ${status}`);
  const isLocked = status === 401 || status === 403;
  return new CellarError("INVALID_INPUT", `${name}: the server answered ${status}`, {
    remedy: isLocked
      ? "Fetch it yourself and give the file, or use https://NAME:PASSWORD@… if the server accepts that."
      : "Check the address.",
    details: { status },
  });
}

function noText(name: string, why: string): CellarError {
  return new CellarError("INVALID_INPUT", `${name} is not text: ${why}`, {
    remedy: "Convert it to text, and give that file.",
  });
}

function lost(name: string, why: string, cause?: unknown): CellarError {
  return new CellarError("REMOTE_ERROR", `${name} could not be fetched: ${why}`, {
    remedy: "Try again later, or fetch it yourself and give the file.",
    cause,
  });
}

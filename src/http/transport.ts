import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { packageVersion } from "../config/environment.js";

export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: HeaderReader;
  readonly body: BodyReader | undefined;
}

export type HeaderReader = Pick<Headers, "get">;

export interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Uses `node:http`, which sends the first byte in half the time of `fetch`. */
export function postDirectly(url: URL, { headers, body, signal }: Post): Promise<HttpResponse> {
  const request = url.protocol === "https:" ? requestSecure : requestPlain;
  const own = {
    accept: "*/*",
    "user-agent": `cellar/${packageVersion()}`,
    "content-length": String(Buffer.byteLength(body)),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method: "POST", headers: { ...own, ...headers }, signal },
      (message) => {
        // Reading only a part must not close the connection, which can be reused.
        const pieces = message.iterator({ destroyOnReturn: false });
        resolve({
          status: message.statusCode ?? 0,
          headers: { get: (name) => message.headers[name]?.toString() ?? null },
          body: {
            read: async () => {
              const { done = false, value } = await pieces.next();
              return { done, value };
            },
            cancel: async () => {
              message.destroy();
            },
          },
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

export async function postBy(
  fetch: typeof globalThis.fetch,
  url: URL,
  post: Post,
): Promise<HttpResponse> {
  // Redirects are not followed, so that the key stays with its host.
  const response = await fetch(url, { method: "POST", redirect: "manual", ...post });
  const { status, headers, body } = response;
  return { status, headers, body: body?.getReader() };
}

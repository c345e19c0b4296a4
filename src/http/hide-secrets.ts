const SHORTEST_SECRET = 8;
const HIDDEN = "[hidden]";

/** A text as it may be written down. Short secrets, "none" or "EMPTY", are none. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(({ length }) => length >= SHORTEST_SECRET)
    .reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
}

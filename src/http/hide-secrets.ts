const SHORTEST_SECRET = 8;
const HIDDEN = "[hidden]";

/** Replaces secrets in a text. Shorter ones ("none", "EMPTY") occur in too many texts. */
export function hideSecrets(
  text: string,
  secrets: readonly string[],
  shortest = SHORTEST_SECRET,
): string {
  return secrets
    .filter(({ length }) => length >= shortest)
    .sort((one, other) => other.length - one.length)
    .reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
}

/** Above this length a tokenizer takes far more time than its parts would. */
const COUNTED_CHARACTERS = 100_000;

/** Tokens of a long text. */
export function countWhole(tokenizer, text) {
  let tokens = 0;
  for (let at = 0; at < text.length; at += COUNTED_CHARACTERS) {
    tokens += tokenizer.count(text.slice(at, at + COUNTED_CHARACTERS));
  }
  return tokens;
}

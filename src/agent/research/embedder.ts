/** Turns texts into vectors whose angles tell how much the texts have in common. */
export interface Embedder {
  readonly name: string;
  /** Two texts belong together from this cosine on. It differs from model to model. */
  readonly threshold: number;
  /** One vector for each text, in their order and all of one length. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
}

/** Between -1 and 1; 0 where one of them is all zeros. */
export function cosine(one: Float32Array, other: Float32Array): number {
  let product = 0;
  let oneSquared = 0;
  let otherSquared = 0;
  for (let index = 0; index < one.length; index++) {
    const a = one[index] ?? 0;
    const b = other[index] ?? 0;
    product += a * b;
    oneSquared += a * a;
    otherSquared += b * b;
  }
  const scale = Math.sqrt(oneSquared * otherSquared);
  return scale === 0 ? 0 : product / scale;
}

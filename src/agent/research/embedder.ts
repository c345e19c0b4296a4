/** Turns texts into vectors whose cosine tells how similar the texts are. */
export interface Embedder {
  readonly name: string;
  /** The cosine from which on two texts are about the same subject. It differs between models. */
  readonly threshold: number;
  /** One vector for each text, in the same order, all of the same length. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
}

/** Between -1 and 1; 0 if one of the vectors is zero. */
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

import { cosine, type Embedder } from "../../../src/agent/research/embedder.js";
import { CALIBRATION_PAIRS, type CalibrationPair } from "./pairs.js";

export interface Calibration {
  readonly threshold: number;
  readonly f1: number;
  readonly precision: number;
  readonly recall: number;
}

interface Measured {
  readonly similarity: number;
  readonly isRelated: boolean;
}

/** Finds the threshold that tells related from unrelated texts best, for this embedder. */
export async function calibrate(
  embedder: Pick<Embedder, "embed">,
  pairs: readonly CalibrationPair[] = CALIBRATION_PAIRS,
  signal?: AbortSignal,
): Promise<Calibration> {
  const measured = await measure(embedder, pairs, signal);
  if (!measured.some(({ isRelated }) => isRelated)) {
    throw new Error("no pair to calibrate with is a related one");
  }
  const marks = measured.map(({ similarity }) => similarity).sort((one, other) => one - other);
  let best = scoreAt(-1, measured);
  for (const [index, mark] of marks.entries()) {
    const below = marks[index - 1] ?? -1;
    // Half way between two neighbours, so that neither is decided by a rounding error.
    const scored = scoreAt(round((below + mark) / 2), measured);
    if (scored.f1 > best.f1) best = scored;
  }
  return best;
}

/** How well one given threshold does. */
export async function score(
  embedder: Embedder,
  pairs: readonly CalibrationPair[] = CALIBRATION_PAIRS,
  signal?: AbortSignal,
): Promise<Calibration> {
  return scoreAt(embedder.threshold, await measure(embedder, pairs, signal));
}

async function measure(
  embedder: Pick<Embedder, "embed">,
  pairs: readonly CalibrationPair[],
  signal?: AbortSignal,
): Promise<Measured[]> {
  const texts = [...new Set([...pairs.map(([one]) => one), ...pairs.map(([, other]) => other)])];
  const vectors = await embedder.embed(texts, signal);
  const vectorOf = new Map(texts.map((text, index) => [text, vectors[index]]));
  const nothing = new Float32Array();
  return pairs.map(([one, other, isRelated]) => ({
    similarity: cosine(vectorOf.get(one) ?? nothing, vectorOf.get(other) ?? nothing),
    isRelated,
  }));
}

function scoreAt(threshold: number, measured: readonly Measured[]): Calibration {
  const found = measured.filter(({ similarity }) => similarity >= threshold);
  const right = found.filter(({ isRelated }) => isRelated).length;
  const related = measured.filter(({ isRelated }) => isRelated).length;
  const precision = found.length === 0 ? 0 : right / found.length;
  const recall = related === 0 ? 0 : right / related;
  const f1 = right === 0 ? 0 : (2 * precision * recall) / (precision + recall);
  return { threshold, f1, precision, recall };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

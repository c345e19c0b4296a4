import { freemem } from "node:os";
import { Unavailable } from "./unavailable.mjs";

/** 100 MB of random floats, which hardly compress. */
export const PAYLOAD = "import numpy as np\ndata = np.random.default_rng(1).random(12_500_000)";
export const CHECK = "print(data.shape, round(float(data[-1]), 6))";
export const PAYLOAD_NAME = "12.5 million random floats, 100 MB";

const NEEDED_BYTES = 2_000_000_000;

export function needMemory() {
  if (freemem() < NEEDED_BYTES) throw new Unavailable("a state of 100 MB needs more free memory");
}

import type { Difference } from "./comparison.js";
import type { CellRecord } from "./record.js";

export const VERDICTS = [
  "alike",
  "accepted",
  "different",
  "chance",
  "network",
  "time",
  "uncompared",
] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What depends on one of these says nothing about Cellar. */
export const APART: readonly Verdict[] = ["chance", "network", "time", "uncompared"];

const CLOCK =
  /%timeit|%time\b|\btime(?:it)?\.\w+\(|\bperf_counter|\btime\(\)|\.now\(|\.today\(|\bclock\(/;
const NETWORK_ERROR =
  /^(?:URLError|gaierror|HTTPError|Connect(?:ion)?(?:Error|Timeout|RefusedError)|MaxRetryError|NewConnectionError|NameResolutionError|SSLError|ConnectError|ClientConnectorError)$/;
const NETWORK_TEXT = /name resolution|Network is unreachable|Name or service not known/;

export interface Evidence {
  readonly code: string;
  readonly differences: readonly Difference[];
  readonly jupyter: CellRecord;
  /** How a second run in ipykernel differs from the first; undefined where there was none. */
  readonly again: readonly Difference[] | undefined;
  /** Whether a cell before it ran out of time in ipykernel, whose effects nobody knows. */
  readonly afterTimeout: boolean;
  readonly isAccepted: boolean;
}

export function judge(evidence: Evidence): Verdict {
  const { code, differences, jupyter, again, afterTimeout, isAccepted } = evidence;
  if (jupyter.state === "lost") return "uncompared";
  if (jupyter.state === "timeout") return "time";
  if (differences.length === 0) return "alike";
  if (isAccepted) return "accepted";
  if (afterTimeout) return "time";
  if (failsForNetwork(jupyter)) return "network";
  const changing = new Set(again?.map(({ what }) => what));
  // Only in what changes from run to run: a random number is no excuse for an error.
  if (changing.size > 0 && differences.every(({ what }) => changing.has(what))) {
    return CLOCK.test(code) ? "time" : "chance";
  }
  return "different";
}

function failsForNetwork({ outputs }: CellRecord): boolean {
  return outputs.some((output) => {
    if (output.output_type === "error") {
      return NETWORK_ERROR.test(output.ename) || NETWORK_TEXT.test(output.evalue);
    }
    return output.output_type === "stream" && NETWORK_TEXT.test(output.text);
  });
}

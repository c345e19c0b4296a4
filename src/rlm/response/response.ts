import { type Fence, fencesIn } from "./fences.js";
import { finishIn, type ProseFinish } from "./finish.js";

export type Response =
  | {
      readonly kind: "code";
      readonly blocks: readonly Fence[];
      /** A FINAL line beside the code, which does not count: the model has not seen the output yet. */
      readonly early: ProseFinish | undefined;
    }
  | { readonly kind: "finish"; readonly finish: ProseFinish }
  | {
      readonly kind: "prose";
      /** Languages of the fences that are not run. */
      readonly ignored: readonly string[];
    };

export function readResponse(reply: string): Response {
  const text = withoutThoughts(reply);
  const fences = fencesIn(text);
  const blocks = fences.filter(({ isCode, code }) => isCode && code.trim() !== "");
  const finish = finishIn(text, fences);
  if (blocks.length > 0) return { kind: "code", blocks, early: finish };
  if (finish !== undefined) return { kind: "finish", finish };
  const ignored = fences.filter(({ isCode }) => !isCode).map(({ language }) => language);
  return { kind: "prose", ignored: [...new Set(ignored)] };
}

/** Some servers leave the thoughts in the response. Line numbers stay the same. */
export function withoutThoughts(reply: string): string {
  const [thoughts = ""] = /^\s*<think>[\s\S]*?(?:<\/think>|$)/.exec(reply) ?? [];
  return thoughts.replace(/[^\r\n]+/g, "") + reply.slice(thoughts.length);
}

import { type CodeBlock, codeBlocks, fencesIn } from "./fences.js";
import { finishIn, type ProseFinish } from "./finish.js";

/** What a response of a model asks for. */
export type Response =
  | {
      readonly kind: "code";
      readonly blocks: readonly CodeBlock[];
      /** A FINAL line beside the code: it does not count, for its writer has not seen what the code gives. */
      readonly early: ProseFinish | undefined;
    }
  | { readonly kind: "finish"; readonly finish: ProseFinish }
  | {
      readonly kind: "prose";
      /** Languages of fences that were not run. */
      readonly ignored: readonly string[];
    };

export function readResponse(reply: string): Response {
  const text = withoutThoughts(reply);
  const fences = fencesIn(text);
  const blocks = codeBlocks(text);
  const finish = finishIn(text, fences);
  if (blocks.length > 0) return { kind: "code", blocks, early: finish };
  if (finish !== undefined) return { kind: "finish", finish };
  const ignored = fences.filter(({ isCode }) => !isCode).map(({ language }) => language);
  return { kind: "prose", ignored: [...new Set(ignored)] };
}

/** Some servers leave the thoughts before the response in it; lines keep their numbers. */
export function withoutThoughts(reply: string): string {
  const [thoughts = ""] = /^\s*<think>[\s\S]*?(?:<\/think>|$)/.exec(reply) ?? [];
  return thoughts.replace(/[^\r\n]+/g, "") + reply.slice(thoughts.length);
}

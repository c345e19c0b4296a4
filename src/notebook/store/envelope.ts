import { createHash } from "node:crypto";
import { z } from "zod";
import type { NotebookId } from "./store.js";

const FORMAT = 1;
const SHAPE = /^\{"format":(\d{1,9}),"checksum":"([0-9a-f]{64})","body":/;
const END = "}\n";

const bodySchema = z.strictObject({
  user: z.string(),
  session: z.string(),
  rev: z.int().nonnegative(),
  head: z.unknown(),
});

export type Opened =
  | { readonly kind: "whole"; readonly head: unknown }
  | { readonly kind: "damaged" }
  /** Made by a later version. */
  | { readonly kind: "newer"; readonly format: number };

/** A head as the content of a file. */
export function sealHead({ user, session }: NotebookId, rev: number, head: unknown): Buffer {
  const body = JSON.stringify({ user, session, rev, head });
  return Buffer.from(`{"format":${FORMAT},"checksum":"${checksum(body)}","body":${body}${END}`);
}

export function openHead({ user, session }: NotebookId, rev: number, content: Buffer): Opened {
  const text = content.toString("utf8");
  const [start, number, sum] = SHAPE.exec(text) ?? [];
  const format = Number(number);
  if (format > FORMAT) return { kind: "newer", format };
  if (start === undefined || format < 1 || !text.endsWith(END)) return { kind: "damaged" };
  const body = text.slice(start.length, -END.length);
  if (checksum(body) !== sum) return { kind: "damaged" };
  const { data } = bodySchema.safeParse(JSON.parse(body));
  const isItself = data?.user === user && data.session === session && data.rev === rev;
  return isItself ? { kind: "whole", head: data.head } : { kind: "damaged" };
}

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

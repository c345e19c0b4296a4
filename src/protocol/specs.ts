import { z } from "zod";

export const count = z.int().nonnegative();
export const text = z.string();
export const shortText = z.string().max(4096);
export const json: z.ZodType<unknown> = z.unknown();
export const nothing = z.strictObject({});

/** Notifications carry no result. `link` names the channel, `from` who sends. */
export type Link = "zygote" | "init" | "head" | "plain" | "daemon";
type Side = "host" | "inside";

export interface NotificationSpec<P extends z.ZodType> {
  readonly kind: "notification";
  readonly link: Link;
  readonly from: Side;
  readonly params: P;
}

export interface RequestSpec<P extends z.ZodType, R extends z.ZodType> {
  readonly kind: "request";
  readonly link: Link;
  readonly from: Side;
  readonly params: P;
  readonly result: R;
}

export function notification<P extends z.ZodType>(
  link: Link,
  from: Side,
  params: P,
): NotificationSpec<P> {
  return { kind: "notification", link, from, params };
}

export function request<P extends z.ZodType, R extends z.ZodType>(
  link: Link,
  from: Side,
  params: P,
  result: R,
): RequestSpec<P, R> {
  return { kind: "request", link, from, params, result };
}

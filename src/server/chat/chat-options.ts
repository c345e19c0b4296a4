import { z } from "zod";
import {
  checkNames,
  type OptionNames,
  requireFunction,
  requireOptions,
} from "../../config/kinds.js";
import { invalidOptions } from "../../config/problems.js";
import { sandboxNotice } from "../../config/setting-names.js";
import { CellarError } from "../../errors.js";
import type { ModelKey } from "../../http/endpoint.js";
import type { Model } from "../../rlm/model.js";
import type { RLMOptions } from "../../rlm/rlm.js";

const settingsSchema = z.object({
  host: z.string().min(1).default("127.0.0.1"),
  /** 0 for any that is free. */
  port: z.int().min(0).max(65_535).default(8787),
  /** What the model is called in requests. */
  name: z
    .string()
    .regex(/^[\w.:/@+-]{1,100}$/, "up to 100 letters, digits and . : / @ + - _")
    .default("cellar-rlm"),
  /** Runs at a time. */
  maxConcurrent: z.int().min(1).max(1_000).default(2),
  /** Questions that may wait for their run. */
  maxWaiting: z.int().min(0).max(10_000).default(16),
  maxBodyBytes: z
    .int()
    .min(1_000)
    .max(512 * 1024 * 1024)
    .default(16 * 1024 * 1024),
  /** Milliseconds between signs of life in a stream. */
  keepAlive: z.int().min(10).max(600_000).default(10_000),
  /** Milliseconds that a connection may be silent, or an answer unread; a run may take longer. */
  patience: z.int().min(10).max(600_000).default(60_000),
  /** False: streams do not report what a run does. */
  progress: z.boolean().default(true),
});

export type ChatSettings = z.output<typeof settingsSchema>;

/** What every question is answered with. */
const RUN_OPTIONS = [
  ...(["model", "subModel", "models", "context", "about", "tools", "budget"] as const),
  ...(["depth", "compactAt", "config", "agent", "onEvent"] as const),
] as const;
type RunOptions = Pick<RLMOptions, (typeof RUN_OPTIONS)[number]>;

export interface ChatServerOptions extends RunOptions, Readonly<z.input<typeof settingsSchema>> {
  readonly model: Model;
  /** What clients must send; needed where others than this machine can reach the server. */
  readonly key?: ModelKey | undefined;
}

const CHAT_OPTIONS = Object.fromEntries(
  [...RUN_OPTIONS, "key", ...Object.keys(settingsSchema.shape)].map((name) => [name, true]),
) as OptionNames<ChatServerOptions>;

/** The options that every run gets as they are. */
export function runOptionsOf(options: ChatServerOptions): RunOptions {
  return Object.fromEntries(RUN_OPTIONS.map((name) => [name, options[name]]));
}

/** What is right, with everything that was not given. */
export function settingsOf(options: ChatServerOptions): ChatSettings {
  requireOptions("the options of a chat server", options, "{ model }");
  checkNames("createChatServer", options, CHAT_OPTIONS, sandboxNotice);
  const { models, subModel, key, onEvent } = options;
  if (models !== undefined) {
    for (const [name, model] of Object.entries(requireOptions("models", models))) {
      requireFunction(`models.${name}.complete`, model?.complete);
    }
  }
  if (subModel !== undefined) requireFunction("subModel.complete", subModel?.complete);
  if (key !== undefined && typeof key !== "string") requireOptions("key", key);
  if (onEvent !== undefined) requireFunction("onEvent", onEvent);
  const read = settingsSchema.safeParse(options);
  if (read.success && typeof options.model?.complete === "function") return read.data;
  if (!read.success) {
    throw invalidOptions("The chat server cannot be started", read.error.issues, {
      input: options,
      known: Object.keys(CHAT_OPTIONS),
    });
  }
  throw new CellarError("INVALID_CONFIG", "The chat server cannot be started: model is missing", {
    remedy: "Give { model }, such as openAIChat({ model: name }).",
  });
}

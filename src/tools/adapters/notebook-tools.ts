import type { REPLConfig } from "../../backends/backend.js";
import { checkRuntime } from "../../backends/options.js";
import {
  checkNames,
  checkSignal,
  type OptionNames,
  requireList,
  requireOptions,
} from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import { addressOf } from "../addresses.js";
import { callTool, refused } from "../dispatch.js";
import { instructionsFor } from "../instructions.js";
import type { ReadResource } from "../resource-reading.js";
import {
  NotebookService,
  type NotebookServiceOptions,
  type ServiceIsolation,
} from "../service/notebook-service.js";
import type { ToolAnswer, ToolCall } from "../tool.js";
import { type AiSdkTool, aiSdkTools } from "./ai-sdk.js";
import { type AnthropicTool, anthropicTools } from "./anthropic.js";
import { Offer, type OfferOptions } from "./offered-tools.js";
import {
  type OpenAIResponsesTool,
  type OpenAITool,
  openaiResponsesTools,
  openaiTools,
} from "./openai.js";

/** Includes the sandbox options of every notebook, which a model cannot change. */
export interface ToolsOptions
  extends Omit<NotebookServiceOptions, "config">,
    OfferOptions,
    Omit<REPLConfig, "backend"> {
  /** The only notebook; the tools then take no `session`. */
  readonly session?: string | undefined;
  /** Names of the tools to offer. Default: all. */
  readonly only?: readonly string[] | undefined;
}

const CALL_OPTIONS: OptionNames<ToolCall> = { signal: true, onText: true };

/** Opens the notebooks of one user for a model. With `session`, that notebook is created at once. */
export async function openTools(options: ToolsOptions): Promise<NotebookTools> {
  requireOptions("the options of the tools", options, '{ dir: "./notebooks", user: "ann" }');
  const { dir, user, session, only, outputCap, mostOpen, idleMs, runtime, ...config } = options;
  checkRuntime(runtime);
  if (only !== undefined) requireList("only", only);
  const offer = new Offer({ session, only });
  const service = await NotebookService.open({
    dir,
    user,
    config,
    outputCap,
    mostOpen,
    idleMs,
    runtime,
  });
  try {
    if (session !== undefined) await service.use(session, async () => {});
    return new NotebookTools(service, offer);
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** Notebooks as tools, in the shapes of several providers. */
export class NotebookTools implements AsyncDisposable {
  readonly #service: NotebookService;
  readonly #offer: Offer;

  constructor(service: NotebookService, offer: Offer) {
    this.#service = service;
    this.#offer = offer;
  }

  get names(): readonly string[] {
    return this.#offer.names;
  }

  get isolation(): ServiceIsolation {
    return this.#service.isolation;
  }

  /** For the system prompt. */
  get instructions(): string {
    const { session, names } = this.#offer;
    const notebook =
      session === undefined
        ? []
        : ["- Here the notebook is chosen already: the tools take no session."];
    const tools = `- You have these tools and no others: ${names.join(", ")}.`;
    return [instructionsFor(this.#service), ...notebook, tools].join("\n");
  }

  /** For `generateText({ tools })` and the like. */
  aiSdk(): Record<string, AiSdkTool> {
    return aiSdkTools(this.#offer.tools, (...call) => this.dispatch(...call));
  }

  /** For chat completions; answers go back with `toOpenAIMessages`. */
  openai(): OpenAITool[] {
    return openaiTools(this.#offer.tools);
  }

  /** For the Responses API; answers go back with `toOpenAIOutput`. */
  openaiResponses(): OpenAIResponsesTool[] {
    return openaiResponsesTools(this.#offer.tools);
  }

  /** For the Messages API; answers go back with `toAnthropicToolResult`. */
  anthropic(): AnthropicTool[] {
    return anthropicTools(this.#offer.tools);
  }

  /**
   * Answers a call of a model. `input` is the arguments, or their JSON. Whatever is wrong is told in
   * the answer; it throws only `ABORTED`, and only for the signal.
   */
  async dispatch(name: string, input: unknown, call: ToolCall = {}): Promise<ToolAnswer> {
    checkNames("dispatch", requireOptions("the options of a call", call), CALL_OPTIONS);
    checkSignal(call.signal);
    const read = this.#offer.read(name, input);
    if ("refusal" in read) return refused(read.refusal, this.#service.isolation);
    return await callTool(this.#service, name, read.input, call);
  }

  /** Reads a `notebook://` URI of an answer. */
  async readResource(uri: string): Promise<ReadResource> {
    const { session } = this.#offer;
    if (session !== undefined && addressOf(uri).session !== session) {
      throw new CellarError("NOT_FOUND", "this URI belongs to another notebook", {
        remedy: `Give a URI of ${session}, or open tools without a session.`,
      });
    }
    return await this.#service.readResource(uri);
  }

  /** Cancels running cells and waits until all is saved. */
  async close(): Promise<void> {
    await this.#service.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

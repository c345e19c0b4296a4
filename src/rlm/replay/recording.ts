import { CellarError } from "../../errors.js";
import type { Model } from "../model.js";
import { CassetteRecorder, recordModel } from "./cassette.js";
import { Replay, replayModel } from "./replay.js";

export interface ModelSet {
  readonly model: Model;
  readonly subModel: Model;
  readonly models: Readonly<Record<string, Model>>;
}

export interface ModelSetOptions {
  readonly model?: Model | undefined;
  readonly subModel?: Model | undefined;
  readonly models?: Readonly<Record<string, Model>> | undefined;
  readonly record?: string | undefined;
  readonly replay?: string | undefined;
}

/** The first loop asks one request at a time, so its order is fixed. */
const ROOT = "root";

/** The parts of prompts that differ in every run. */
const VARYING = [/[\d,]+ of [\d,]+ seconds/];

/** The models of a run: plain, recorded, or replayed. */
export class Recording implements AsyncDisposable {
  readonly modelSet: ModelSet;
  readonly #recorder: CassetteRecorder | undefined;
  readonly #replay: Replay | undefined;

  private constructor(
    modelSet: ModelSet,
    parts: { recorder?: CassetteRecorder; replay?: Replay } = {},
  ) {
    this.modelSet = modelSet;
    this.#recorder = parts.recorder;
    this.#replay = parts.replay;
  }

  static async open(options: ModelSetOptions): Promise<Recording> {
    const { model, subModel = model, models = {}, record, replay } = options;
    if (replay !== undefined) return Recording.#play(options, replay);
    if (model === undefined || subModel === undefined) throw noModel();
    for (const [role, one] of Object.entries({ ...models, model, subModel }))
      requireModel(role, one);
    if (record === undefined) return new Recording({ model, subModel, models });
    const recorder = await CassetteRecorder.open(record);
    const named = Object.entries(models).map(([name, one]) => [
      name,
      recordModel(one, recorder, { role: "named", name }),
    ]);
    const modelSet = {
      model: recordModel(model, recorder, { caller: ROOT, role: "root" }),
      subModel: recordModel(subModel, recorder, { role: "sub" }),
      models: Object.fromEntries(named),
    };
    return new Recording(modelSet, { recorder });
  }

  static async #play({ model, subModel, models, record }: ModelSetOptions, path: string) {
    if ([model, subModel, models, record].some((given) => given !== undefined)) {
      throw new CellarError("INVALID_INPUT", "a replay takes its models from the recording", {
        remedy: "Remove model, subModel, models and record, or remove replay.",
      });
    }
    const replay = await Replay.open(path, { ignore: VARYING });
    const named = replay.cassette.models.filter(({ role }) => role === "named");
    const modelSet = {
      model: replayModel(replay, { caller: ROOT, role: "root" }),
      subModel: replayModel(replay, { role: "sub" }),
      models: Object.fromEntries(
        named.map(({ name }) => [name, replayModel(replay, { role: "named", name })]),
      ),
    };
    return new Recording(modelSet, { replay });
  }

  /** Why a replay differs from its recording. */
  get divergence(): CellarError | undefined {
    return this.#replay?.divergence;
  }

  /** Fails if a replay diverged or ended early, or if a recording is incomplete. */
  async close(): Promise<void> {
    await this.#recorder?.close();
    this.#replay?.finish();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#recorder?.close();
  }
}

function requireModel(role: string, model: Model): void {
  if (typeof model?.complete === "function") return;
  throw new CellarError("INVALID_INPUT", `${role} is not a model`, {
    remedy: "Give one such as openAIChat({ model: name }).",
  });
}

export function noModel(): CellarError {
  return new CellarError("INVALID_INPUT", "rlm() needs a question and a model", {
    remedy: "Give { query, model }, with a model such as openAIChat({ model: name }).",
  });
}

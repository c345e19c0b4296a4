import { CellarError } from "../../errors.js";
import type { Model } from "../model.js";
import { CassetteRecorder, recordModel } from "./cassette.js";
import { Replay, replayModel } from "./replay.js";

/** The models of a tree of loops. */
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

/** Who asks one after the other, so that the order of a recording binds it. */
const ROOT = "root";

/** What differs from run to run in what a loop tells its model. */
const UNSTEADY = [/[\d,]+ of [\d,]+ seconds/];

/** The models of a run: as they are, written down as they speak, or played from a recording. */
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
    const named = Object.entries(models).map(([name, one]) => {
      const known = { name, contextWindow: one.contextWindow, price: one.price };
      const complete: Model["complete"] = (request) => one.complete(request);
      const secrets = () => one.secrets?.() ?? [];
      return [name, recordModel({ ...known, secrets, complete }, recorder, { role: "named" })];
    });
    const modelSet = {
      model: recordModel(model, recorder, { caller: ROOT, role: "root" }),
      subModel: recordModel(subModel, recorder, { role: "sub" }),
      models: Object.fromEntries(named),
    };
    return new Recording(modelSet, { recorder });
  }

  static async #play({ model, subModel, models, record }: ModelSetOptions, path: string) {
    if ([model, subModel, models, record].some((given) => given !== undefined)) {
      throw new CellarError("INVALID_INPUT", "a replay has its models from the recording", {
        remedy: "Leave model, subModel, models and record out, or leave replay out.",
      });
    }
    const replay = await Replay.open(path, { ignore: UNSTEADY });
    const named = replay.cassette.models.filter(({ role }) => role === "named");
    const modelSet = {
      model: replayModel(replay, { caller: ROOT, role: "root" }),
      subModel: replayModel(replay, { role: "sub" }),
      models: Object.fromEntries(
        named.map(({ name }) => [name, replayModel(replay, { role: "named", model: name })]),
      ),
    };
    return new Recording(modelSet, { replay });
  }

  /** Why the run is not the recorded one, where it is played and went another way. */
  get divergence(): CellarError | undefined {
    return this.#replay?.divergence;
  }

  /** Fails when a replay went another way or ended early, or a recording is not complete. */
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
  return new CellarError("INVALID_INPUT", "rlm() wants a question and a model", {
    remedy: "Give { query, model }, the model such as openAIChat({ model: name }).",
  });
}

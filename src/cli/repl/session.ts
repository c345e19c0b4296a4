import { answerOf } from "../../agent/observation/answer.js";
import { replacedText } from "../../agent/observation/observation.js";
import type { CodeExecution, ISandbox, REPLConfig } from "../../backends/backend.js";
import { EXIT, exitCodeOf } from "../exit-codes.js";
import { Displays } from "../terminal/displays.js";
import { showEnding } from "../terminal/execution-view.js";
import type { ImageProtocol } from "../terminal/images.js";
import { reportFailure } from "../terminal/report-error.js";
import { escapeControls, GuestText, type Painter, painterFor } from "../terminal/terminal.js";
import { isFarewell, type ReplState, runCommand } from "./commands.js";

export interface ReplSessionOptions {
  readonly interactive: boolean;
  readonly protocol: ImageProtocol | undefined;
  readonly imageFolder: string;
}

export interface Beginning {
  readonly timeout?: number;
  readonly context?: string;
}

/** A REPL session: runs input from a terminal or a pipe and shows the results. */
export class ReplSession {
  /** Background output must not overwrite the prompt. */
  aroundOutput: (write: () => boolean) => void = (write) => void write();
  readonly #interactive: boolean;
  readonly #stdout = new GuestText(process.stdout);
  readonly #stderr = new GuestText(process.stderr);
  readonly #paint: Painter = painterFor(process.stdout);
  readonly #displays: Displays;
  readonly #cells: string[] = [];
  #state: ReplState | undefined;
  #number = 0;
  #failures = 0;
  #lastNotice = "";

  constructor({ interactive, protocol, imageFolder }: ReplSessionOptions) {
    this.#interactive = interactive;
    this.#displays = new Displays({
      stdout: this.#stdout,
      stream: process.stdout,
      protocol,
      folder: imageFolder,
      onSaved: (path) => this.#note(`image saved as ${path}`),
    });
  }

  get callbacks(): REPLConfig {
    return {
      onStdout: (text) => this.#stdout.write(text),
      onStderr: (text) => this.#stderr.write(text),
      onDisplay: (output) => this.#displays.show(output),
      onBackground: (text, stream) =>
        this.aroundOutput(() => {
          const target = stream === "stdout" ? this.#stdout : this.#stderr;
          target.write(text);
          return target.isLineOpen;
        }),
    };
  }

  begin(sandbox: ISandbox, { timeout, context }: Beginning): void {
    this.#state = { sandbox, cells: this.#cells, timeout, isAgent: context !== undefined };
  }

  get sandbox(): ISandbox {
    return this.#begun.sandbox;
  }

  get nextNumber(): number {
    return this.#number + 1;
  }

  get failures(): number {
    return this.#failures;
  }

  cancel(): void {
    void this.sandbox.cancel();
  }

  async take(text: string): Promise<boolean> {
    if (text.trim() === "") return true;
    if (isFarewell(text)) return false;
    try {
      const answer = await runCommand(text, this.#begun);
      if (answer !== undefined) process.stdout.write(`${this.#safe(answer)}\n`);
      else await this.#run(text);
    } catch (error) {
      this.#failures += 1;
      reportFailure(error);
    }
    return true;
  }

  get #begun(): ReplState {
    if (this.#state === undefined) throw new Error("the session has not started");
    return this.#state;
  }

  async #run(code: string): Promise<void> {
    const { sandbox, timeout } = this.#begun;
    const execution = await sandbox.execute(code, timeout === undefined ? {} : { timeout });
    this.#number = execution.number;
    this.#cells.push(code);
    if (exitCodeOf(execution) !== EXIT.ok) this.#failures += 1;
    this.#stdout.finish(this.#interactive);
    this.#showResult(execution);
    showEnding(execution, { stdout: this.#stdout, stderr: this.#stderr }, this.#interactive);
    if (execution.exitCode !== null && this.#interactive) {
      this.#note(`exit code ${execution.exitCode}; the session continues (%quit leaves)`);
    }
    this.#showAgent(execution);
    this.#showState(execution);
  }

  #showAgent({ replaced, agent }: CodeExecution): void {
    if (replaced !== undefined) this.#note(replacedText(replaced));
    for (const { name, reason } of agent?.refused ?? []) {
      this.#note(`${name} was not accepted: ${reason}`);
    }
    const answer = answerOf(agent);
    if (answer === undefined) return;
    if (this.#interactive) process.stdout.write(this.#paint("green", "Answer: "));
    this.#stdout.write(`${answer.text}\n`);
    this.#stdout.finish();
    if (answer.loss !== null) this.#note(`of the answer ${answer.loss}`);
  }

  #showResult({ result, number }: CodeExecution): void {
    if (result === null) return;
    const text = result["text/plain"] ?? "";
    if (this.#interactive) {
      const label = this.#paint("red", `Out[${number}]:`);
      process.stdout.write(`${label}${text.includes("\n") ? "\n" : " "}`);
    }
    this.#stdout.write(`${text}\n`);
    this.#stdout.finish();
  }

  /** Reports lost state or a missing checkpoint, once per reason. */
  #showState({ state }: CodeExecution): void {
    const reason = (state.reason ?? "unknown").replace(/^no checkpoints?: /, "");
    const notices = [
      ...(state.survived ? [] : [`state was lost: ${reason}`]),
      ...(state.survived && state.checkpoint === null ? [`no checkpoint: ${reason}`] : []),
      ...(state.lost === undefined ? [] : [`closed by the restore: ${state.lost.join(", ")}`]),
    ];
    const notice = notices.join("; ");
    if (notice !== "" && (notice !== this.#lastNotice || !state.survived)) this.#note(notice);
    this.#lastNotice = notice;
  }

  #note(text: string): void {
    const stream = this.#interactive ? process.stdout : process.stderr;
    stream.write(`${painterFor(stream)("dim", this.#safe(text))}\n`);
  }

  #safe(text: string): string {
    return this.#interactive ? escapeControls(text) : text;
  }
}

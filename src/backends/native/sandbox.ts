import type { NetworkReport } from "../../egress/proxy.js";
import { PythonSandbox } from "../session/sandbox.js";
import type { SandboxEgress } from "./sandbox-egress.js";

/** Runs cells in a CPython of this machine, behind walls where the machine allows them. */
export class NativePythonSandbox extends PythonSandbox {
  #egress: SandboxEgress | undefined;
  #ending: Promise<void> | undefined;

  /** What was reached and refused; undefined without an allow-list. */
  get network(): NetworkReport | undefined {
    return this.#egress?.proxy.report;
  }

  /** Also for its forks. */
  override cutNetwork(reason: string): boolean {
    this.#egress?.proxy.cut(reason);
    return this.#egress !== undefined;
  }

  /** Takes over the way out, which ends with the last sandbox that has it. */
  holdEgress(egress: SandboxEgress): void {
    this.#egress = egress;
  }

  override async fork(): Promise<this> {
    const twin = await super.fork();
    if (this.#egress !== undefined) twin.holdEgress(this.#egress.share());
    return twin;
  }

  override destroy(): Promise<void> {
    this.#ending ??= super.destroy().finally(() => this.#egress?.release());
    return this.#ending;
  }
}

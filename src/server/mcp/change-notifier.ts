import type { Server } from "@modelcontextprotocol/server";
import type { NotebookChange, NotebookService } from "../../tools/service/notebook-service.js";
import type { Subscriptions } from "./subscriptions.js";

/** Minimum interval between notifications: a client may reload everything at each. */
const PACE_MS = 500;

/** Notifies a client of changes; several in quick succession become one notification. */
export class ChangeNotifier implements Disposable {
  readonly #server: Server;
  readonly #subscriptions: Subscriptions;
  readonly #stop: () => void;
  readonly #changed = new Set<string>();
  #isListChanged = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(server: Server, service: NotebookService, subscriptions: Subscriptions) {
    this.#server = server;
    this.#subscriptions = subscriptions;
    this.#stop = service.listen((change) => this.#hear(change));
  }

  [Symbol.dispose](): void {
    this.#stop();
    clearTimeout(this.#timer);
  }

  #hear({ session, kind }: NotebookChange): void {
    this.#changed.add(session);
    // Cells are listed beside their notebooks; files are not.
    this.#isListChanged ||= kind !== "files";
    this.#timer ??= setTimeout(() => void this.#tell(), PACE_MS);
    this.#timer.unref();
  }

  async #tell(): Promise<void> {
    this.#timer = undefined;
    const uris = [...this.#changed].flatMap((session) => this.#subscriptions.of(session));
    const isListChanged = this.#isListChanged;
    this.#changed.clear();
    this.#isListChanged = false;
    try {
      if (isListChanged) await this.#server.sendResourceListChanged();
      for (const uri of uris) await this.#server.sendResourceUpdated({ uri });
    } catch {
      // The client went away, or has not said yet that it is ready.
    }
  }
}

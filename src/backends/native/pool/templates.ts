import type { LargeContext } from "../../session/context/context.js";
import type { Session } from "../../session/session.js";
import type { SpawnOrder } from "../zygote/session-forker.js";
import { Template, type TemplateContext } from "./template.js";

/** A context without sessions is kept for the next one that wants it: so long, and so many. */
const LINGER_MS = 10_000;
const MOST_IDLE = 2;

interface TemplateSlot {
  readonly context: LargeContext;
  readonly template: Promise<Template>;
  /** Undefined while it is being made; then whether it still lives is to be asked. */
  made: Template | undefined;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

/** The templates of one zygote: sandboxes with the same context share one. */
export class Templates {
  readonly #workshop: TemplateContext;
  /** Those used last stand last. */
  #shelves: TemplateSlot[] = [];

  constructor(workshop: TemplateContext) {
    this.#workshop = workshop;
  }

  get sessions(): number {
    return this.#shelves.reduce((sum, { users }) => sum + users, 0);
  }

  /** A session that is born with the context. */
  async take(context: LargeContext, order: SpawnOrder): Promise<Session> {
    const shelf = this.#find(context) ?? this.#make(context);
    shelf.users += 1;
    clearTimeout(shelf.timer);
    try {
      const session = (await shelf.template).spawn(order);
      session.gone.then(() => this.#release(shelf));
      return session;
    } catch (error) {
      this.#remove(shelf);
      throw error;
    }
  }

  close(): void {
    for (const shelf of [...this.#shelves]) this.#remove(shelf);
  }

  #find(context: LargeContext): TemplateSlot | undefined {
    const shelf = this.#shelves.find(
      ({ context: held, made }) => made?.isAlive !== false && held.isSame(context),
    );
    if (shelf !== undefined) {
      this.#shelves = [...this.#shelves.filter((other) => other !== shelf), shelf];
    }
    return shelf;
  }

  #make(context: LargeContext): TemplateSlot {
    const template = Template.make(context, this.#workshop);
    const shelf: TemplateSlot = { context, template, made: undefined, users: 0, timer: undefined };
    template.then(
      (made) => {
        shelf.made = made;
      },
      () => {},
    );
    this.#shelves.push(shelf);
    return shelf;
  }

  #release(shelf: TemplateSlot): void {
    shelf.users -= 1;
    if (shelf.users > 0 || !this.#shelves.includes(shelf)) return;
    if (shelf.made?.isAlive !== true) {
      this.#remove(shelf);
      return;
    }
    shelf.timer = setTimeout(() => this.#remove(shelf), LINGER_MS);
    shelf.timer.unref();
    const idle = this.#shelves.filter(({ users }) => users === 0);
    for (const old of idle.slice(0, -MOST_IDLE)) this.#remove(old);
  }

  #remove(shelf: TemplateSlot): void {
    clearTimeout(shelf.timer);
    this.#shelves = this.#shelves.filter((other) => other !== shelf);
    shelf.template.then(
      (template) => template.close(),
      () => {},
    );
  }
}

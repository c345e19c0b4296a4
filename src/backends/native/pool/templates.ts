import type { LargeContext } from "../../session/context/context.js";
import type { Session } from "../../session/session.js";
import type { SpawnOrder } from "../zygote/session-forker.js";
import { Template, type TemplateContext } from "./template.js";

/** How long and how many contexts without sessions are kept. */
const LINGER_MS = 10_000;
const MOST_IDLE = 2;

interface TemplateSlot {
  readonly context: LargeContext;
  readonly template: Promise<Template>;
  made: Template | undefined;
  users: number;
  timer: NodeJS.Timeout | undefined;
}

/** The templates of one zygote: sandboxes with the same context share one. */
export class Templates {
  readonly #tools: TemplateContext;
  /** Least recently used first. */
  #slots: TemplateSlot[] = [];

  constructor(tools: TemplateContext) {
    this.#tools = tools;
  }

  get sessions(): number {
    return this.#slots.reduce((sum, { users }) => sum + users, 0);
  }

  async take(context: LargeContext, order: SpawnOrder): Promise<Session> {
    const slot = this.#find(context) ?? this.#make(context);
    slot.users += 1;
    clearTimeout(slot.timer);
    try {
      const session = (await slot.template).forker.spawn(order);
      session.gone.then(() => this.#release(slot));
      return session;
    } catch (error) {
      this.#remove(slot);
      throw error;
    }
  }

  close(): void {
    for (const slot of [...this.#slots]) this.#remove(slot);
  }

  #find(context: LargeContext): TemplateSlot | undefined {
    const slot = this.#slots.find(
      ({ context: { identity }, made }) => made?.isAlive !== false && identity === context.identity,
    );
    if (slot !== undefined) {
      this.#slots = [...this.#slots.filter((other) => other !== slot), slot];
    }
    return slot;
  }

  #make(context: LargeContext): TemplateSlot {
    const template = Template.make(context, this.#tools);
    const slot: TemplateSlot = { context, template, made: undefined, users: 0, timer: undefined };
    template.then(
      (made) => {
        slot.made = made;
      },
      () => {},
    );
    this.#slots.push(slot);
    return slot;
  }

  #release(slot: TemplateSlot): void {
    slot.users -= 1;
    if (slot.users > 0 || !this.#slots.includes(slot)) return;
    if (slot.made?.isAlive !== true) {
      this.#remove(slot);
      return;
    }
    slot.timer = setTimeout(() => this.#remove(slot), LINGER_MS);
    slot.timer.unref();
    const idle = this.#slots.filter(({ users }) => users === 0);
    for (const old of idle.slice(0, -MOST_IDLE)) this.#remove(old);
  }

  #remove(slot: TemplateSlot): void {
    clearTimeout(slot.timer);
    this.#slots = this.#slots.filter((other) => other !== slot);
    slot.template.then(
      (template) => template.close(),
      () => {},
    );
  }
}

import { compare } from "./checks.mjs";

/** A new user on one machine: runs commands, and records what is not as expected. */
export class Visit {
  constructor(machine, { checks, tarball, index, isShort }) {
    this.machine = machine;
    this.tarball = tarball;
    this.isShort = isShort;
    /** Small packages that the index has, or the reason why it cannot be reached. */
    this.index = index;
    this.checks = checks;
  }

  /** Returns the command's output, or undefined if it was not as expected. */
  async command(step, args, expected, options) {
    return await this.#run(step, expected, () => this.machine.cellar(args, options));
  }

  async program(step, command, expected, options) {
    return await this.#run(step, expected, () => this.machine.run(command, options));
  }

  async task(step, task) {
    return await this.checks.check(this.machine.name, step, task);
  }

  skip(step, reason) {
    this.checks.skip(this.machine.name, step, reason);
  }

  async #run(step, expected, run) {
    let result;
    const isRight = await this.task(step, async () => {
      result = await run();
      return compare(result, expected);
    });
    return isRight ? result : undefined;
  }
}

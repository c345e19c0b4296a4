/** What was sent, with the answer to come. */
export interface Sent<T> {
  readonly answer: Promise<T>;
}

/** Sends orders in the order of the calls, however long each takes to get ready; answers may come later. */
export class OrderedSender {
  #last: Promise<unknown> = Promise.resolve();

  async send<T>(prepare: () => Promise<Sent<T>>): Promise<T> {
    const sent = this.#last.then(prepare);
    this.#last = sent.catch(() => {});
    return await (await sent).answer;
  }
}

import { describe, expect, it } from "vitest";
import { onAbort, unlessAborted } from "./abort.js";

describe("onAbort", () => {
  it("calls back once, with the reason, and not after it was disposed of", () => {
    const heard: unknown[] = [];
    const controller = new AbortController();
    onAbort(controller.signal, (reason) => heard.push(reason));
    onAbort(controller.signal, () => heard.push("disposed of"))[Symbol.dispose]();
    controller.abort("first");
    controller.abort("second");
    expect(heard).toEqual(["first"]);
  });

  it("calls back at once where the signal has aborted, and never without a signal", () => {
    const heard: unknown[] = [];
    onAbort(AbortSignal.abort("before"), (reason) => heard.push(reason));
    onAbort(undefined, (reason) => heard.push(reason))[Symbol.dispose]();
    expect(heard).toEqual(["before"]);
  });
});

describe("unlessAborted", () => {
  const never = new Promise<string>(() => {});

  it("is the work's result or failure", async () => {
    const { signal } = new AbortController();
    await expect(unlessAborted(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(unlessAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    await expect(unlessAborted(Promise.resolve(2), undefined)).resolves.toBe(2);
  });

  it("fails with the abort, whatever becomes of the work", async () => {
    const controller = new AbortController();
    const plain = unlessAborted(never, controller.signal);
    const told = unlessAborted(never, controller.signal, (reason) => `gave up: ${reason}`);
    controller.abort("enough");
    await expect(plain).rejects.toBe("enough");
    await expect(told).rejects.toBe("gave up: enough");
    const failing = Promise.reject(new Error("later"));
    await expect(unlessAborted(failing, controller.signal)).rejects.toBe("enough");
  });
});

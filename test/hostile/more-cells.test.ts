import { afterAll, beforeAll } from "vitest";
import { Arena } from "./arena.js";
import { campaign, readCells } from "./campaign.js";
import { MORE_EXPECTATIONS } from "./more-expectations.js";

let arena: Arena;
beforeAll(async () => {
  arena = await Arena.open();
});
afterAll(() => arena[Symbol.asyncDispose]());

campaign(readCells("more-cells.json"), MORE_EXPECTATIONS, () => arena);

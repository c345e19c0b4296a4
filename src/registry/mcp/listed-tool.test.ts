import { expect, it } from "vitest";
import { declarationOf, listedToolSchema } from "./listed-tool.js";

it("a tool needs the network unless its server runs here and says that it stays here", () => {
  const permissions = (annotations: object | undefined, transport: "stdio" | "http" = "stdio") =>
    declarationOf(listedToolSchema.parse({ name: "t", annotations }), "t", transport).permissions;
  expect(permissions(undefined)).toEqual(["network"]);
  expect(permissions({ readOnlyHint: true })).toEqual(["network"]);
  expect(permissions({ openWorldHint: "no" })).toEqual(["network"]);
  expect(permissions({ openWorldHint: true })).toEqual(["network"]);
  expect(permissions({ openWorldHint: false })).toEqual([]);
  expect(permissions({ openWorldHint: false }, "http")).toEqual(["network"]);
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { petShop } from "../../../test/support/openapi/pet-shop.js";
import type { ToolSource } from "../tool.js";
import { type OpenApiOptions, openApiSource } from "./source.js";

function open(options: Partial<OpenApiOptions> = {}): ToolSource {
  const baseUrl = "http://127.0.0.1/v1";
  return openApiSource({ name: "pet shop", document: petShop, baseUrl, ...options });
}

describe("the tools of an OpenAPI document", () => {
  it("are its operations, with what they do and take", async () => {
    const source = open({ credentials: { header: { name: "x-api-key", value: "a secret" } } });
    const tools = await source.tools();
    expect(source.group).toBe("pet_shop");
    expect(
      tools.map(({ name, isReadOnly, isDestructive }) => [name, isReadOnly, isDestructive]),
    ).toEqual([
      ["list_pets", true, false],
      ["createPet", false, false],
      ["getPet", true, false],
      ["head_pets_id", true, false],
      ["putPet", false, false],
      ["deletePet", false, true],
    ]);
    expect(tools.every(({ permissions }) => permissions.join() === "network")).toBe(true);
    const [list, create, get, , put] = tools;
    expect(list).toMatchObject({ description: "Lists pets.", returns: "a list" });
    expect(Object.keys(list?.parameters.properties ?? {})).toEqual([
      "tags",
      "ids",
      "filter",
      "X_Trace_Id",
    ]);
    expect(create).toMatchObject({ returns: "the new pet" });
    expect(create?.parameters).toEqual({
      type: "object",
      properties: {
        name: { type: "string" },
        age: { type: ["integer", "null"], minimum: 0, exclusiveMinimum: 0 },
        mother: expect.anything(),
      },
      required: ["name"],
      additionalProperties: false,
    });
    expect(get?.parameters.required).toEqual(["id"]);
    expect(Object.keys(put?.parameters.properties ?? {})).toEqual(["id", "body"]);
  });

  it("can be JSON, YAML of version 3.1, or a file", async () => {
    const yaml = [
      'openapi: "3.1.0"',
      "servers: [{ url: 'http://{host}/api', variables: { host: { default: '127.0.0.1' } } }]",
      "paths:",
      "  /now:",
      "    get: { summary: The time }",
    ].join("\n");
    const folder = mkdtempSync(join(tmpdir(), "cellar-openapi-"));
    const file = join(folder, "api.yaml");
    writeFileSync(file, yaml);
    for (const document of [JSON.stringify(petShop), petShop]) {
      expect(await open({ document }).tools()).toHaveLength(6);
    }
    for (const document of [yaml, { file }]) {
      const tools = await openApiSource({ name: "t", document }).tools();
      expect(tools).toMatchObject([{ name: "get_now", description: "The time" }]);
    }
    rmSync(folder, { recursive: true });
  });

  it.each([
    ["swagger: '2.0'", /Swagger 2.0/],
    ["openapi: 2.9.9\npaths: {}", /"2.9.9" in openapi/],
    ["openapi: 3.1.0", /has no paths/],
    ["[1, 2]", /is not an object/],
    ["a: b: c", /neither JSON nor YAML/],
    [
      "a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n? *d\n: 1",
      /OpenAPI document of pet shop/,
    ],
    [{ file: "/no/such/file" }, /cannot be read: ENOENT/],
  ])("are refused with the reason: %j", async (document, message) => {
    await expect(open({ document }).tools()).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringMatching(message),
    });
  });

  it("survive references in circles, to nowhere and to other documents", async () => {
    const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const wide = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`m${at}`, schema("Wide")]),
    );
    // Each level is ten times as large as the one below: more than any memory holds.
    const towers = Array.from({ length: 20 }, (_, level) => [
      `Tower${level}`,
      {
        type: "object",
        properties: Object.fromEntries(
          Array.from({ length: 10 }, (_, at) => [`m${at}`, schema(`Tower${level + 1}`)]),
        ),
      },
    ]);
    const bodies = ["Loop", "Nowhere", "Wide", "Tower0", "Outside"].map((name) => [
      `/${name}`,
      {
        post: {
          requestBody: {
            required: true,
            content: { "application/json": { schema: schema(name) } },
          },
        },
      },
    ]);
    const document = {
      openapi: "3.1.0",
      paths: { ...Object.fromEntries(bodies), "/self": { $ref: "#/paths/~1self" } },
      components: {
        schemas: {
          ...Object.fromEntries(towers),
          Loop: schema("Pool"),
          Pool: schema("Loop"),
          Wide: {
            type: "object",
            properties: { a: { properties: wide }, b: { properties: wide } },
          },
          Outside: { $ref: "http://127.0.0.1/other.json" },
        },
      },
    };
    const tools = await open({ document }).tools();
    expect(tools.map(({ name }) => name)).toEqual([
      "post_Loop",
      "post_Nowhere",
      "post_Wide",
      "post_Tower0",
      "post_Outside",
    ]);
    expect(JSON.stringify(tools).length).toBeLessThan(100_000);
  });

  it("need a whole address without secrets in it", async () => {
    const bad = ["ftp://a/", "http://me:pw@a/", "http://a/?key=1"];
    for (const baseUrl of bad) {
      await expect(open({ baseUrl }).tools()).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    }
    await expect(openApiSource({ name: "t", document: petShop }).tools()).rejects.toThrow(
      /without a whole address/,
    );
  });
});

#!/usr/bin/env node
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULE = "protocol/daemon-contract.js";

/** Compiles validators for what the daemon's client receives, from protocol/schema.json to `dist`. */
export async function writeDaemonContract(folder = root) {
  const target = join(folder, "dist", MODULE);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, await daemonContractCode(folder));
}

/** Gives tests, which import from `src`, the module that the build writes. */
export function daemonContractPlugin() {
  return {
    name: "daemon-contract",
    enforce: "pre",
    resolveId: (path) => (path.endsWith(`/${MODULE.split("/")[1]}`) ? `\0${MODULE}` : undefined),
    load: (id) => (id === `\0${MODULE}` ? daemonContractCode(root) : undefined),
  };
}

/** The validators use a few lines of Ajv at run time; esbuild bundles them. */
async function daemonContractCode(folder) {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    stdin: { contents: await validators(folder), resolveDir: folder },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    minify: true,
    logLevel: "warning",
  });
  return outputFiles[0].text;
}

async function validators(folder) {
  const { Ajv } = await import("ajv");
  const { default: standalone } = await import("ajv/dist/standalone/index.js");
  const { envelope, messages } = JSON.parse(
    readFileSync(join(folder, "protocol", "schema.json"), "utf8"),
  );
  const received = Object.entries(messages)
    .filter(([, { link }]) => link === "daemon")
    .map(([method, { kind, from, params, result }]) =>
      from === "daemon" ? { method, kind, params } : { method, kind, result },
    );
  const schemas = { envelope: withoutErrors(envelope) };
  for (const { method, params, result } of received) {
    if (params !== undefined) schemas[`params_${method}`] = withoutErrors(params);
    if (result !== undefined) schemas[`result_${method}`] = withoutErrors(result);
  }
  // A name inherited from Object.prototype is not a member.
  const ajv = new Ajv({ schemas, ownProperties: true, code: { source: true, esm: true } });
  const names = Object.fromEntries(Object.keys(schemas).map((name) => [name, name]));
  return [standalone.default(ajv, names), contractCode(Object.keys(schemas), received)].join("\n");
}

/** Below `not` Ajv omits the code that describes errors, which is most of it and is never read. */
function withoutErrors(schema) {
  return { not: { not: schema } };
}

function contractCode(names, received) {
  const table = (part) =>
    names
      .filter((name) => name.startsWith(`${part}_`))
      .map((name) => `${name.slice(part.length + 1)}: ${name}`)
      .join(", ");
  const kinds = received.map(({ method, kind }) => `${method}: ${JSON.stringify(kind)}`).join(", ");
  return `
const kinds = { __proto__: null, ${kinds} };
const params = { __proto__: null, ${table("params")} };
const results = { __proto__: null, ${table("result")} };
const valid = (validate, value) => (validate?.(value) ? value : undefined);
export const daemonContract = {
  envelope: (value) => valid(envelope, value),
  kind: (method) => kinds[method],
  params: (method, value) => valid(params[method], value),
  result: (method, value) => valid(results[method], value),
};
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeDaemonContract();

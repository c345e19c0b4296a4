import { CellarError } from "../errors.js";
import { SchemaCheck } from "./source/schema-check.js";
import { type JsonSchema, ToolError } from "./tool.js";

const MOST_ISSUES = 8;
const LONGEST_ISSUE = 300;

type Arguments = Readonly<Record<string, unknown>>;

/** Checks arguments against the schema of a tool, and adds its defaults. */
export class ArgumentCheck {
  readonly #name: string;
  readonly #schema: SchemaCheck;
  readonly #known: ReadonlySet<string>;
  readonly #isOpen: boolean;

  constructor(name: string, parameters: JsonSchema) {
    this.#name = name;
    const { properties, additionalProperties } = parameters;
    const isObject = typeof properties === "object" && properties !== null;
    this.#known = new Set(isObject ? Object.keys(properties) : []);
    this.#isOpen =
      !isObject || (additionalProperties !== undefined && additionalProperties !== false);
    this.#schema = new SchemaCheck(parameters);
  }

  read(given: unknown): Arguments {
    if (!isArguments(given)) {
      throw this.#wrong([`arguments have names, and these are ${typeof given}`]);
    }
    const unknown = this.#isOpen ? [] : Object.keys(given).filter((name) => !this.#known.has(name));
    if (unknown.length > 0) {
      const known = [...this.#known].join(", ") || "nothing";
      throw this.#wrong([
        `there is no ${unknown.slice(0, MOST_ISSUES).join(", ")}; it takes ${known}`,
      ]);
    }
    const parsed = this.#schema.parse(given);
    if (parsed === undefined) return given;
    if (parsed.success) return parsed.data as Arguments;
    const told = parsed.error.issues.slice(0, MOST_ISSUES).map(({ path, message }) => {
      const place = path.map(String).join(".");
      return (place === "" ? message : `${place}: ${message}`).slice(0, LONGEST_ISSUE);
    });
    throw this.#wrong(told);
  }

  #wrong(problems: readonly string[]): ToolError {
    const message = `${this.#name} got invalid arguments: ${problems.join("; ")}`;
    return new ToolError("BAD_ARGUMENTS", message, { remedy: `see help(tools.${this.#name})` });
  }
}

function isArguments(given: unknown): given is Arguments {
  return (
    typeof given === "object" && given !== null && Object.getPrototypeOf(given) === Object.prototype
  );
}

/** A tool's name is what Python writes after `tools.`. */
export function checkToolNames(names: readonly string[], where: string): void {
  const wrong = names.find((name) => !/^[A-Za-z]\w{0,63}$/.test(name));
  if (wrong === undefined) return;
  throw new CellarError(
    "INVALID_CONFIG",
    `${where} has a tool called ${JSON.stringify(wrong.slice(0, 100))}, which is no name in Python`,
    { remedy: "Use letters, digits and underscores, a letter first, at most 64." },
  );
}

import { CellarError } from "../../errors.js";
import { AGENT_FUNCTIONS } from "../../protocol/agent/functions.js";

const LONGEST_NAME = 64;

const KEYWORDS =
  "False None True and as assert async await break class continue def del elif else except " +
  "finally for from global if import in is lambda nonlocal not or pass raise return try while " +
  "with yield";

const PYTHON =
  "Ellipsis GeneratorExit KeyboardInterrupt NotImplemented StopAsyncIteration StopIteration " +
  "SystemExit abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr " +
  "classmethod compile complex copyright credits delattr dict dir divmod enumerate eval exec exit " +
  "filter float format frozenset getattr globals hasattr hash help hex id input int isinstance " +
  "issubclass iter len license list locals map max memoryview min next object oct open ord pow " +
  "print property quit range repr reversed round set setattr slice sorted staticmethod str sum " +
  "super tuple type vars zip";

const SESSION =
  "CALL HostError In Out TOOL ToolError answer chunk_by_headers chunk_text context count_lines count_matches display " +
  "extract_json extract_sections find_line get_ipython get_line keep list_tools llm_query " +
  "llm_query_batched rlm_query rlm_query_batched search_context tool_call tool_specs tools";

/** Python's own and those of later versions. */
const EXCEPTION = /(?:Error|Exception|ExceptionGroup|Warning)$/;

/** Whether Python takes it as the name of an argument. */
export function isArgumentName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name) && !words(KEYWORDS).includes(name);
}

/** A tool must not hide what Python or the session has under its name. */
export function checkToolName(name: string): void {
  if (!/^[A-Za-z]\w*$/.test(name) || name.length > LONGEST_NAME) {
    throw refused(name, `is not a name for a Python function of up to ${LONGEST_NAME} characters`);
  }
  if (words(KEYWORDS).includes(name)) throw refused(name, "is a keyword of Python");
  if (words(PYTHON).includes(name) || EXCEPTION.test(name)) {
    throw refused(name, "is a built-in of Python");
  }
  if (words(SESSION).includes(name) || Object.hasOwn(AGENT_FUNCTIONS, name)) {
    throw refused(name, "has a meaning in every session already");
  }
}

function words(text: string): readonly string[] {
  return text.split(" ");
}

function refused(name: string, why: string): CellarError {
  const shown = JSON.stringify(name.slice(0, LONGEST_NAME));
  return new CellarError("INVALID_CONFIG", `the tool ${shown} cannot be offered: its name ${why}`, {
    remedy: "Give it another name in tools: ASCII letters, digits and underscores, a letter first.",
  });
}

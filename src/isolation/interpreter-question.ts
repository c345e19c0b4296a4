import { execFile } from "node:child_process";
import { promisify } from "node:util";

export interface QuestionOptions {
  readonly signal?: AbortSignal | undefined;
  /** Version-manager shims may need `HOME`; nothing else of the caller's environment is passed. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

const ANSWER_TIMEOUT_MS = 20_000;
export const MOST_ADDED = 200;

/** Modules of that name are what setuptools finds editable packages by. */
const QUESTION = `
import json, os, sys, sysconfig
paths = sysconfig.get_paths()
added = list(sys.path)
for name, module in list(sys.modules.items()):
    mapping = getattr(module, "MAPPING", None) if name.startswith("__editable__") else None
    for path in mapping.values() if isinstance(mapping, dict) else ():
        added += [str(path), str(path) + ".py"]
print(json.dumps({
    "executable": sys.executable,
    "version": list(sys.version_info[:3]),
    "prefixes": [sys.prefix, sys.exec_prefix],
    "base_prefixes": [getattr(sys, "base_prefix", sys.prefix),
                      getattr(sys, "base_exec_prefix", sys.exec_prefix)],
    "library": paths["stdlib"],
    "site": paths["purelib"],
    "added": [path for path in added if os.path.isabs(path) and os.path.exists(path)][:${MOST_ADDED}],
}))
`;

/** Starts the interpreter and returns what it says of itself, not checked yet. */
export async function questionInterpreter(path: string, options: QuestionOptions): Promise<string> {
  const { stdout } = await promisify(execFile)(path, ["-I", "-c", QUESTION], {
    signal: options.signal,
    timeout: ANSWER_TIMEOUT_MS,
    maxBuffer: 64 * 1024,
    cwd: "/",
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...options.environment },
  });
  return stdout;
}

/** What an interpreter answers while this process still loads the code that needs the answer. */
export class EarlyAnswer {
  readonly #path: string;
  #answer: Promise<string> | undefined;

  constructor(path: string, options: QuestionOptions) {
    this.#path = path;
    this.#answer = questionInterpreter(path, options);
    // Whoever takes it hears of the failure.
    this.#answer.catch(() => {});
  }

  /** Only once: packages may have changed since. */
  take(path: string): Promise<string> | undefined {
    if (path !== this.#path) return undefined;
    const answer = this.#answer;
    this.#answer = undefined;
    return answer;
  }
}

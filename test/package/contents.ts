import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, normalize } from "node:path";

/** Its history tells of the repository. */
const HISTORY = "CHANGELOG.md";
const FOR_A_CHECKOUT = /\bnpm (?:run|test|ci)\b|`(?:node )?(?:src|test|scripts)\//;
const BUILT_IN = new Set(builtinModules);

function filesOf(folder: string, extension: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(extension),
  );
}

/** Links of the package's documents to what is not in it. */
export function strayLinks(folder: string): string[] {
  const files = new Set(readdirSync(folder, { recursive: true, encoding: "utf8" }));
  return filesOf(folder, ".md").flatMap((page) => {
    const text = readFileSync(join(folder, page), "utf8").replace(/^```[\s\S]*?^```/gm, "");
    return [...text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => !files.has(normalize(join(dirname(page), target))))
      .map((target) => `${page}: ${target}`);
  });
}

/**
 * What a package's document says of scripts, sources and tests, which are not in it. The section, or the
 * opening of the page, has to say that they are of a checkout.
 */
export function unmarked(page: string, text: string): string[] {
  const [opening = "", ...sections] = text.split(/^(?=##? )/m).filter((part) => part.trim() !== "");
  if (/\bcheckout\b/.test(opening)) return [];
  return [opening, ...sections]
    .filter((section) => !/\bcheckout\b/.test(section))
    .flatMap((section) => section.split("\n").filter((line) => FOR_A_CHECKOUT.test(line)))
    .map((line) => `${page}: ${line.trim()}`);
}

export function unmarkedIn(folder: string): string[] {
  return filesOf(folder, ".md")
    .filter((page) => page !== HISTORY)
    .flatMap((page) => unmarked(page, readFileSync(join(folder, page), "utf8")));
}

/** Packages that the package's files import, and a project that has it installed has not. */
export function strayImports(folder: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const known = new Set(Object.keys(dependencies));
  const files = [".js", ".d.ts", ".mjs"].flatMap((extension) => filesOf(folder, extension));
  return files.flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    return [...text.matchAll(/(?:\bfrom ?|\bimport[ (]?)["']([@a-z][\w@./:-]*)["']/g)]
      .map(([, name = ""]) => name)
      .filter((name) => !name.startsWith(".") && !name.startsWith("node:") && !BUILT_IN.has(name))
      .filter((name) => !known.has(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? ""))
      .map((name) => `${file}: ${name}`);
  });
}

/** What names a source map, or is one. */
export function sourceMapsIn(folder: string): string[] {
  const scripts = [".js", ".mjs"].flatMap((extension) => filesOf(folder, extension));
  const naming = scripts.filter((file) =>
    /^\/\/# sourceMappingURL=/m.test(readFileSync(join(folder, file), "utf8")),
  );
  return [...naming, ...filesOf(folder, ".map")];
}

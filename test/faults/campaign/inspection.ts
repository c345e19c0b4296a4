import { isCellarError, Notebook } from "../../../src/index.js";
import { accountOf } from "./account.js";
import { PROBE } from "./deeds.js";
import { type Fixture, textLines, within } from "./fixture.js";
import type { Findings, Model } from "./model.js";
import { wrongFiles } from "./store-files.js";

export interface InspectionPlan {
  readonly fixture: Fixture;
  readonly user: string;
  readonly session: string;
  readonly findings: Findings;
}

/** Opens the notebook in this process, which no fault ever strikes, and compares all of it. */
export async function inspectNotebook(
  { fixture, user, session, findings }: InspectionPlan,
  model: Model,
  how: { takeover?: boolean; isQuiet?: boolean } = {},
): Promise<void> {
  const { takeover = false, isQuiet = false } = how;
  let notebook: Notebook;
  try {
    const options = { ...fixture.options(user, session), takeover, create: false };
    notebook = await within("opening", Notebook.open(options));
  } catch (error) {
    const isGone = isCellarError(error, "NOT_FOUND");
    // Nothing was acknowledged of it, not even that it was made.
    if (isGone && model.acknowledged === 0) return;
    findings.lost.push(`${session}: it cannot be opened: ${String(error)}`);
    return;
  }
  try {
    model.reopened(accountOf(notebook), { isQuiet });
    await inspectContents(notebook, session, model, findings);
    const lines = await textLines(notebook, PROBE);
    model.probed(accountOf(notebook), lines);
  } finally {
    await within("closing", notebook.close());
  }
  const files = await wrongFiles(fixture.dir, user, session);
  findings.leftBehind.push(...files.map((file) => `${session}: file ${file}`));
}

/** Reads every resource and every file. */
export async function inspectContents(
  notebook: Notebook,
  name: string,
  model: Model,
  findings: Findings,
): Promise<void> {
  for (const { number, resources } of accountOf(notebook).cells) {
    for (const uri of resources) {
      try {
        await within("a resource", notebook.resource(uri));
      } catch (error) {
        findings.lost.push(`${name}: ${uri} of cell ${number} cannot be read: ${String(error)}`);
      }
    }
  }
  for (const [path, wanted] of model.files) {
    const found = await textOf(notebook, path);
    if (!wanted.has(found)) {
      findings.lost.push(`${name}: ${path} holds ${found}, not ${[...wanted].join(" or ")}`);
    }
  }
}

async function textOf(notebook: Notebook, path: string): Promise<string | undefined> {
  try {
    return (await within("a file", notebook.getFile(path))).toString();
  } catch (error) {
    if (isCellarError(error, "NOT_FOUND")) return undefined;
    throw error;
  }
}

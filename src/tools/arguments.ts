import { z } from "zod";

const name = z.string().min(1).max(64);

/** Without one, calls work in the notebook of their connection. */
export const anySession = name
  .optional()
  .describe(
    "The notebook to work in, by its name. Default: the one of this connection, which all calls without a session share.",
  );

/** For tools that must not use the default notebook. */
export const namedSession = name.describe("The notebook, by its name.");

export const cellKey = z
  .union([z.int().nonnegative(), z.string().min(1).max(64)], {
    error: "expected the number of a cell, or its id",
  })
  .describe(
    "The number of the cell, as answers and tracebacks have it, or its id. A cell that runs again gets a new number.",
  );

export const textOffset = z
  .int()
  .nonnegative()
  .optional()
  .describe("Character to begin with. Default: 0.");

export const textLimit = z
  .int()
  .min(1)
  .max(100_000)
  .optional()
  .describe("Characters to return. Default: what one answer usually shows.");

export const filePath = z
  .string()
  .min(1)
  .max(3_072)
  .describe("Path below /workspace, such as data/table.csv. Not absolute, and without .. in it.");

import { z } from "zod";
import { privacyNote } from "../egress/privacy-enforcement.js";
import { anySession } from "./arguments.js";
import { type Tool, textAnswer } from "./tool.js";
import { answered } from "./view/shapes.js";

const privateInput = z.strictObject({
  session: anySession,
  reason: z.string().min(1).max(1_000).optional().describe("Why, for those who read it later."),
});
const privateSchema = z.strictObject({ ...answered, reason: z.string(), note: z.string() });

export const markPrivate: Tool<typeof privateInput, typeof privateSchema> = {
  name: "mark_private",
  title: "Mark as private",
  description:
    "Marks the notebook as holding private data. If it is isolated, its network is cut at once and for good. " +
    "Use it before you load data that must not leave. Returns what is enforced.",
  input: privateInput,
  output: privateSchema,
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  run: async (service, { session: named, reason }) => {
    const marked = await service.useExisting(named, async (notebook) => {
      await notebook.markPrivate(reason);
      return notebook.info.private;
    });
    const { session, isolation, result } = marked;
    service.tell({ session, kind: "list" });
    const kept = result?.reason ?? reason ?? "";
    const note = privacyNote(isolation, kept);
    return textAnswer(`${note} · session ${session} · isolation ${isolation}`, {
      session,
      isolation,
      reason: kept,
      note,
    });
  },
};

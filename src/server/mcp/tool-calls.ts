import {
  type CallToolRequest,
  type CallToolResult,
  type ContentBlock,
  INVALID_PARAMS,
  type Tool as McpTool,
  ProtocolError,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { callTool, refused } from "../../tools/dispatch.js";
import type { NotebookService } from "../../tools/service/notebook-service.js";
import type { Refusal, ToolAnswer, ToolPart } from "../../tools/tool.js";
import { TOOLS } from "../../tools/tool-list.js";
import { ProgressFeed } from "./progress.js";
import { LONGEST_ANSWER } from "./stdio-transport.js";

/** Calls of one client at the same time; each may hold a session and its memory. */
const MOST_CALLS = 64;

/** Characters that the images of one answer may have. */
const IMAGE_SPACE = LONGEST_ANSWER * 0.8;

/** In `_meta`, for results without structured content. */
export const ISOLATION_KEY = "cellar/isolation";

export function describeTools(): McpTool[] {
  return TOOLS.map(({ name, title, description, input, output, hints }) => ({
    name,
    title,
    description,
    inputSchema: schemaOf(input),
    outputSchema: schemaOf(output),
    annotations: {
      title,
      readOnlyHint: hints.readOnly,
      destructiveHint: hints.destructive,
      idempotentHint: hints.idempotent,
      openWorldHint: hints.openWorld,
    },
  }));
}

/** As both dialects read it: clients of the older revisions know one, those of the newer another. */
function schemaOf(schema: z.ZodObject): McpTool["inputSchema"] {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ jsonSchema }) => {
      const { prefixItems } = jsonSchema;
      if (prefixItems === undefined) return;
      // What says "no more items" in the newer dialect says "no items" in the older.
      delete jsonSchema.prefixItems;
      jsonSchema.items = { anyOf: prefixItems.filter((item) => typeof item === "object") };
      jsonSchema.minItems = prefixItems.length;
      jsonSchema.maxItems = prefixItems.length;
    },
  });
  return { ...rest, type: "object" } as McpTool["inputSchema"];
}

/** The tool calls of one client. */
export class ToolCalls {
  readonly #service: NotebookService;
  #running = 0;

  constructor(service: NotebookService) {
    this.#service = service;
  }

  async call(request: CallToolRequest, { mcpReq }: ServerContext): Promise<CallToolResult> {
    const { name, arguments: input = {} } = request.params;
    if (!TOOLS.some((tool) => tool.name === name)) {
      const known = TOOLS.map((tool) => tool.name).join(", ");
      throw new ProtocolError(INVALID_PARAMS, `unknown tool; the tools are ${known}`);
    }
    if (this.#running >= MOST_CALLS) {
      return resultOf(refused(tooMany(), this.#service.isolation), this.#service.isolation.level);
    }
    const { signal } = mcpReq;
    const token = request.params._meta?.progressToken ?? mcpReq._meta?.progressToken;
    await using feed =
      token === undefined
        ? undefined
        : new ProgressFeed(async (progress) => {
            // A client that cancelled has forgotten the token.
            if (signal.aborted) return;
            const params = { progressToken: token, ...progress };
            await mcpReq.notify({ method: "notifications/progress", params });
          });
    this.#running += 1;
    try {
      const call = { signal, onText: feed?.take };
      return resultOf(
        await callTool(this.#service, name, input, call),
        this.#service.isolation.level,
      );
    } finally {
      this.#running -= 1;
    }
  }
}

function tooMany(): Refusal {
  return {
    code: "LIMIT_REACHED",
    message: `${MOST_CALLS} calls are running already`,
    remedy: "Wait for one of them to end, then call again.",
  };
}

function resultOf(answer: ToolAnswer, level: string): CallToolResult {
  const { parts, structured, isError, refusal } = answer;
  const content = fitting(parts).map(contentOf);
  if (refusal === undefined) {
    return { content, structuredContent: { ...(structured as object) }, isError };
  }
  // Clients hold all structured content against the schema of answers, which a refusal does not fit.
  return { content, isError, _meta: { [ISOLATION_KEY]: level, "cellar/refusal": refusal } };
}

/** Images beyond the space of one answer are left to their URIs, which the text has. */
function fitting(parts: readonly ToolPart[]): ToolPart[] {
  let space = IMAGE_SPACE;
  return parts.map((part) => {
    if (part.type !== "image") return part;
    space -= part.data.length;
    return space >= 0 ? part : { type: "text", text: "[an image is left out here; see its URI]" };
  });
}

function contentOf(part: ToolPart): ContentBlock {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image", mimeType: part.mime, data: part.data };
    case "resource": {
      const { uri, name, mime, size } = part;
      return { type: "resource_link", uri, name, mimeType: mime, size };
    }
  }
}

import { ToolError } from "./tool.js";

/** About how many bytes a value takes as JSON; stops counting beyond `most`, and fails for what is no value. */
export function sizeOf(value: unknown, most: number): number {
  let size = 0;
  const stack: unknown[] = [value];
  while (stack.length > 0 && size <= most) {
    const item = stack.pop();
    if (typeof item === "function" || typeof item === "symbol") {
      throw new ToolError("BAD_RESULT", `the result has a ${typeof item}, which Python cannot use`);
    }
    if (typeof item === "string") size += item.length + 2;
    else if (typeof item !== "object" || item === null) size += 8;
    else if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) size += item.byteLength;
    else if (Array.isArray(item)) {
      size += 2 + item.length;
      if (size <= most) for (const one of item) stack.push(one);
    } else if (item instanceof Map || item instanceof Set) {
      size += 2 + item.size;
      if (size <= most) for (const pair of item.entries()) stack.push(...pair);
    } else if ("toJSON" in item && typeof item.toJSON === "function") {
      size += 8;
      stack.push(item.toJSON());
    } else {
      for (const [key, one] of Object.entries(item)) {
        size += key.length + 4;
        stack.push(one);
      }
    }
  }
  return size;
}

import { checkNames, requireOptions } from "../../config/kinds.js";
import { CellarError } from "../../errors.js";
import type { ModelUsage, Price } from "../model.js";

export function costOf(
  usage: Pick<ModelUsage, "inputTokens" | "outputTokens">,
  price: Price,
): number {
  const input = usage.inputTokens * price.inputPerMillion;
  return (input + usage.outputTokens * price.outputPerMillion) / 1_000_000;
}

export function checkedPrice(price: Price | undefined): Price | undefined {
  if (price === undefined) return undefined;
  const known = { inputPerMillion: true, outputPerMillion: true } as const;
  const given = checkNames("price", requireOptions("price", price), known);
  const { inputPerMillion, outputPerMillion } = given;
  const isRight = [inputPerMillion, outputPerMillion].every(
    (dollars) => Number.isFinite(dollars) && dollars >= 0,
  );
  if (isRight) return { inputPerMillion, outputPerMillion };
  throw new CellarError("INVALID_CONFIG", "invalid price of the model", {
    remedy: "Give inputPerMillion and outputPerMillion: dollars for a million tokens each.",
  });
}

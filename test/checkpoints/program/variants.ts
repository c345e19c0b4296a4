/** Trials that are wrong on purpose: one that is not found out is worth nothing. */
export const VARIANTS = [
  "changed-state",
  "skipped-cell",
  "false-report",
  "late-checkpoint",
] as const;
export type Variant = (typeof VARIANTS)[number];

/** What counts as finding it out. */
export const FINDS = {
  "changed-state": "different",
  "skipped-cell": "different",
  "false-report": "untrue",
  "late-checkpoint": "tooMuch",
} as const satisfies Record<Variant, string>;

/** Which part finds it out. */
export function isOfBursts(variant: Variant): boolean {
  return FINDS[variant] !== "different";
}

/** Changes one value somewhere, as a restore would that has missed something. */
export const DISTURBANCE = `
import random as _random
for _name, _value in sorted(globals().items(), key=lambda item: item[0]):
    if not _name.startswith("_") and isinstance(_value, (list, bytearray)) and len(_value) > 0:
        _value[len(_value) // 2] = 7
        break
else:
    _random.random()
`;

export async function runStorm(_: {
  operations: number;
  seed: number;
  programs: string;
  say: (line: string) => void;
}): Promise<number> {
  return 0;
}

/** Waits for the work, but no longer than this; the work itself is left alone. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

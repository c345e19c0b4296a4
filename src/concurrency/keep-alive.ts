/** Children and sockets do not hold the process; somebody who waits for them must. */
export async function keepingAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 2 ** 30);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

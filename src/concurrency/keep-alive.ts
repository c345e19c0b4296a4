/** Children and sockets do not keep the process alive; this does while a caller waits for them. */
export async function keepingAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 2 ** 30);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

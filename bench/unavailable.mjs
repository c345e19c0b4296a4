/** Thrown by a benchmark that cannot be run here; its message is the reason that is shown. */
export class Unavailable extends Error {
  name = "Unavailable";
}

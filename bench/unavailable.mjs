/** Thrown by a benchmark that cannot run here; the report shows its message as the reason. */
export class Unavailable extends Error {
  name = "Unavailable";
}

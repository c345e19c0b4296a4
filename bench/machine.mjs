import { cpus, loadavg, release, totalmem } from "node:os";

/** What the figures depend on. */
export function describeMachine() {
  return {
    processors: cpus().length,
    model: cpus()[0]?.model ?? "unknown",
    memory_mb: Math.round(totalmem() / 2 ** 20),
    kernel: release(),
    architecture: process.arch,
    node: process.version,
    root: process.getuid?.() === 0,
    load_before: loadavg()[0],
  };
}

export function describeEnd() {
  return { load_after: loadavg()[0] };
}

/** The isolation level and libraries that the figures apply to. */
export function describeZygote({ isolation, interpreter, report }) {
  return {
    isolation: isolation.level,
    missing: isolation.missing,
    python: interpreter.version,
    preloaded: report.preloaded.map(({ name, version }) => `${name} ${version}`),
  };
}

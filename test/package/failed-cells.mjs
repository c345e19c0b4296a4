/** Loaded before an example: tells of each cell that raised, which an example may not notice. */
import { AgentRepl, DaemonClientSandbox, NativePythonSandbox, Notebook } from "cellar";

function watch(prototype, method, errorOf) {
  const run = prototype[method];
  prototype[method] = async function (...given) {
    const result = await run.apply(this, given);
    const error = errorOf(result);
    if (error !== undefined) process.stderr.write(`CELL FAILED ${error}\n`);
    return result;
  };
}

const raised = ({ status, error }) => (status === "error" ? (error?.message ?? "") : undefined);
// All but the daemon's have it from one class.
watch(Object.getPrototypeOf(NativePythonSandbox.prototype), "execute", raised);
watch(DaemonClientSandbox.prototype, "execute", raised);
watch(AgentRepl.prototype, "turn", ({ execution }) => raised(execution));
watch(Notebook.prototype, "run", ({ state, outputs }) =>
  state === "ERROR" ? outputs.find(({ type }) => type === "ERROR")?.message : undefined,
);

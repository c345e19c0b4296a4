export type { OpenSandbox } from "./python-calls.js";
export {
  type BuiltinTool,
  type DeclarationFile,
  type DeclarationOptions,
  declarationSource,
  readDeclarations,
} from "./source.js";

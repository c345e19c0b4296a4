import { posix } from "node:path";

/** Programs by which a session calls its own interpreter, whatever else the machine has. */
export interface Programs {
  /** Small scripts, by name. */
  readonly scripts: Readonly<Record<string, string>>;
  /** Further names, and which script each of them is. */
  readonly links: Readonly<Record<string, string>>;
}

/** Where they are found inside a wall; the first folder of the search path there. */
export const PROGRAMS_GUEST = "/opt/cellar/bin";

const SYSTEM_PATH = ["/usr/local/bin", "/usr/bin", "/bin"];
const PACKAGE_TOOL = "bootstrap/package_tools.py";

/** `executable` and `runner` are paths as the session sees them. */
export function sessionPrograms(executable: string, version: string, runner: string): Programs {
  const python = quoted(executable);
  const packages = `exec ${python} -I -X utf8 ${quoted(posix.join(runner, PACKAGE_TOOL))}`;
  const [major, minor] = version.split(".");
  return {
    scripts: {
      python: [
        "#!/bin/sh",
        `if [ "$1" = -m ] && [ "$2" = pip ]; then shift 2; ${packages} pip "$@"; fi`,
        `exec ${python} "$@"`,
        "",
      ].join("\n"),
      pip: ["#!/bin/sh", `${packages} "$0" "$@"`, ""].join("\n"),
    },
    links: {
      [`python${major}`]: "python",
      [`python${major}.${minor}`]: "python",
      [`pip${major}`]: "pip",
      [`pip${major}.${minor}`]: "pip",
      conda: "pip",
      mamba: "pip",
      uv: "pip",
    },
  };
}

/** The search path inside: the session's own names, then what is installed beside its interpreter. */
export function guestPath(executable: string): string {
  const folders = [PROGRAMS_GUEST, posix.dirname(executable), ...SYSTEM_PATH];
  return [...new Set(folders)].join(":");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

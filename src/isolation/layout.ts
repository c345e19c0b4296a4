import { accessSync, constants, existsSync, lstatSync, readlinkSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { SystemLayout } from "./bwrap.js";

const TOP_LEVEL = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

const HARMLESS_ETC = [
  "/etc/alternatives",
  "/etc/fonts",
  "/etc/ld.so.cache",
  "/etc/localtime",
  "/etc/magic",
  "/etc/matplotlibrc",
  "/etc/mime.types",
  "/etc/pki/ca-trust/extracted",
  "/etc/pki/tls/cert.pem",
  "/etc/protocols",
  "/etc/services",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
];

/** Ubuntu's AppArmor profile knows the system's binary only, so that one comes first. */
const SYSTEM_BWRAP = "/usr/bin/bwrap";

/** How this host lays out what every sandbox shows; `root` is where the host's tree begins. */
export function systemLayout(root = "/"): SystemLayout {
  const links: { name: string; target: string }[] = [];
  const folders: string[] = [];
  for (const name of TOP_LEVEL) {
    const stats = lstatSync(join(root, name), { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() === true) {
      links.push({ name, target: readlinkSync(join(root, name)) });
    } else if (stats?.isDirectory() === true) {
      folders.push(name);
    }
  }
  return { links, folders, etc: HARMLESS_ETC.filter((path) => existsSync(join(root, path))) };
}

/** The bubblewrap to start, looked for in the given search path after the system's place. */
export function locateBwrap(path: string, system = SYSTEM_BWRAP): string | undefined {
  return [system, ...executablesOn(path, "bwrap")].find(isExecutable);
}

/** Every place of a search path where a program of that name can be started, in order. */
export function executablesOn(path: string, name: string): string[] {
  return path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .filter(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

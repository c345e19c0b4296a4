import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  statSync,
} from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { SystemLayout } from "./bwrap.js";

const TOP_LEVEL = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

const HARMLESS_ETC = [
  "/etc/alternatives",
  "/etc/R/Makeconf",
  "/etc/R/Renviron",
  "/etc/R/ldpaths",
  "/etc/R/repositories",
  "/etc/fonts",
  "/etc/java",
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

/** Debian keeps parts of these there, with a version in the name, and links to them from `/usr`. */
const VERSIONED_ETC = /^(java-\d+-openjdk|ImageMagick-\d+)$/;

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
  const etc = HARMLESS_ETC.filter((path) => existsSync(join(root, path)));
  return { links, folders, etc: [...etc, ...versionedEtc(root)].sort() };
}

function versionedEtc(root: string): string[] {
  const etc = join(root, "etc");
  const names = existsSync(etc) ? readdirSync(etc) : [];
  const isOpen = (name: string) => ((statSync(join(etc, name)).mode ?? 0) & 0o005) === 0o005;
  return names.filter((name) => VERSIONED_ETC.test(name) && isOpen(name)).map((n) => `/etc/${n}`);
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

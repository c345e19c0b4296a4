import { readFileSync } from "node:fs";
import { delimiter } from "node:path";

const NOBODY = { name: "nobody", uid: 65534, gid: 65534 };
/** Runs a command in a folder: entering a namespace loses the working directory. */
const IN_FOLDER = 'cd "$1" && shift && exec "$@"';
/** Variables that configure package indexes; never keys. */
const NETWORK =
  /^(https?_proxy|no_proxy|all_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|PIP_(CERT|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|DEFAULT_TIMEOUT|TRUSTED_HOST)|npm_config_(registry|cafile|proxy|https_proxy|noproxy|strict_ssl))$/i;

/** The ordinary user of the trial: the current user, or another one for root. */
export function findPerson(uid) {
  const own = process.getuid();
  if (own !== 0) {
    const known = accounts().find((account) => account.uid === own);
    return { name: known?.name ?? "me", uid: own, gid: process.getgid(), drop: [] };
  }
  const wanted = uid === undefined ? byName(NOBODY.name) : byNumber(uid);
  const ids = [`--reuid=${wanted.uid}`, `--regid=${wanted.gid}`];
  return { ...wanted, drop: ["setpriv", ...ids, "--clear-groups", "--"] };
}

/** The command as this user runs it in a folder. */
export function asPerson(person, command, cwd) {
  return [...person.drop, "sh", "-c", IN_FOLDER, "sh", cwd, ...command];
}

/** The environment of a new login, plus the settings of package indexes. */
export function environmentOf(person, { home, path, cache }) {
  const network = Object.entries(process.env).filter(([name]) => NETWORK.test(name));
  return {
    ...Object.fromEntries(network.filter(([, value]) => !/:[^/@]+@/.test(value ?? ""))),
    HOME: home,
    PATH: path,
    USER: person.name,
    LOGNAME: person.name,
    SHELL: "/bin/sh",
    LANG: "C.UTF-8",
    TERM: "dumb",
    npm_config_cache: cache,
    npm_config_update_notifier: "false",
    // Without a registry npm would try for minutes.
    npm_config_fetch_retries: "1",
    npm_config_fetch_retry_mintimeout: "1000",
    npm_config_fetch_retry_maxtimeout: "5000",
    npm_config_fetch_timeout: "60000",
  };
}

/** The PATH without npm's additions and folders that this user cannot reach. */
export async function pathOf(person, processes) {
  const folders = [...new Set((process.env.PATH ?? "").split(delimiter))].filter(
    (folder) => folder.startsWith("/") && !folder.includes("node_modules"),
  );
  const look =
    'for one in "$@"; do test -x "$one/." && test -r "$one/." && echo "$one"; done; true';
  const command = asPerson(person, ["sh", "-c", look, "sh", ...folders], "/");
  const { stdout } = await processes.run(command, {
    env: { PATH: process.env.PATH },
    limit: 20_000,
  });
  return stdout.split("\n").filter((folder) => folder !== "");
}

function byName(name) {
  return accounts().find((account) => account.name === name) ?? NOBODY;
}

function byNumber(uid) {
  return accounts().find((account) => account.uid === uid) ?? { name: `u${uid}`, uid, gid: uid };
}

function accounts() {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

import { createHash } from "node:crypto";

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_HEADER = 0x06054b50;
const VERSION = 20;

/** A wheel of these files, not compressed. */
export function makeWheel(files: Readonly<Record<string, string>>): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const data = Buffer.from(text);
    const path = Buffer.from(name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(LOCAL_HEADER, 0);
    const about = describe(data, path.length);
    about.copy(local, 4);
    locals.push(local, path, data);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(CENTRAL_HEADER, 0);
    central.writeUInt16LE(VERSION, 4);
    about.copy(central, 6);
    central.writeUInt32LE(offset, 42);
    centrals.push(central, path);
    offset += local.length + path.length + data.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  const count = Object.keys(files).length;
  end.writeUInt32LE(END_HEADER, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

/** The part that both headers of an entry share. */
function describe(data: Buffer, nameLength: number): Buffer {
  const about = Buffer.alloc(26);
  about.writeUInt16LE(VERSION, 0);
  about.writeUInt32LE(crc32(data), 10);
  about.writeUInt32LE(data.length, 14);
  about.writeUInt32LE(data.length, 18);
  about.writeUInt16LE(nameLength, 22);
  return about;
}

function crc32(data: Buffer): number {
  let crc = -1;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** A wheel with one module, and its entry in a lock. */
export function tinyPackage(name: string, source: string, depends: readonly string[] = []) {
  const info = `${name}-1.0.dist-info`;
  const wheel = makeWheel({
    [`${name}.py`]: source,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/RECORD`]: "",
  });
  const file = `${name}-1.0-py3-none-any.whl`;
  const entry = {
    name,
    version: "1.0",
    file_name: file,
    install_dir: "site",
    package_type: "package",
    sha256: createHash("sha256").update(wheel).digest("hex"),
    imports: [name],
    depends,
    unvendored_tests: false,
  };
  return { wheel, file, entry };
}

import { TextDecoder } from "node:util";
import { invalidInput } from "../terminal/report-error.js";

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** PEP 263: a comment in one of the first two lines, of which the first then is a comment or blank. */
const CODING = /^(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)/;

/** Windows-1252 from 0x80 to 0x9f. */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

/** Decodes Python source by its byte order mark or coding line, else as UTF-8. */
export function decodeSource(bytes: Buffer, name: string): string {
  if (bytes.includes(0)) throw notText(name, "it holds null bytes");
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const body = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  const [, coding] = CODING.exec(body.toString("latin1")) ?? [];
  if (coding === undefined || isUtf8(coding)) return decode(body, "utf-8", name, "it is not UTF-8");
  if (isMarked) throw notText(name, `it begins as UTF-8, and says that its coding is ${coding}`);
  const text = decode(body, coding, name, `it is not in ${coding}, as its coding line says`);
  // The session gets UTF-8, so its copy must not claim another coding.
  return text.replace(CODING, (line) => `${line.slice(0, -coding.length)}utf-8`);
}

function decode(bytes: Buffer, coding: string, name: string, fault: string): string {
  // Node's decoder confuses these two.
  if (/^(?:latin-?1|iso-?8859-?1|l1|8859)$/.test(plain(coding))) return bytes.toString("latin1");
  if (/^(?:cp-?|windows-)?1252$/.test(plain(coding))) return windowsText(bytes);
  const decoder = decoderOf(coding);
  if (decoder === undefined) {
    throw notText(name, `its coding line says ${JSON.stringify(coding)}, which is not known here`);
  }
  try {
    return decoder.decode(bytes);
  } catch {
    throw notText(name, fault);
  }
}

function windowsText(bytes: Buffer): string {
  return bytes
    .toString("latin1")
    .replace(/[\u0080-\u009f]/g, (one) => WINDOWS_1252[one.charCodeAt(0) - 0x80] ?? one);
}

function decoderOf(coding: string): TextDecoder | undefined {
  const label = plain(coding)
    .replace(/^(?:us-)?ascii$/, "utf-8")
    .replace(/^cp-?(125\d)$/, "windows-$1")
    .replace(/^iso-?8859-?(\d+)$/, "iso-8859-$1");
  try {
    return new TextDecoder(label, { fatal: true, ignoreBOM: true });
  } catch {
    return undefined;
  }
}

function isUtf8(coding: string): boolean {
  return /^utf-?8(?:-sig)?$/.test(plain(coding));
}

function plain(coding: string): string {
  return coding.toLowerCase().replaceAll("_", "-");
}

function notText(name: string, why: string): Error {
  return invalidInput(`${name} is not Python source: ${why}`, "Give a text file in UTF-8.");
}

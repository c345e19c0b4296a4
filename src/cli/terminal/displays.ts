import { counted, describeError } from "../../errors.js";
import {
  type Display,
  type ImageProtocol,
  imageOf,
  imageProtocol,
  inlineImage,
  saveImage,
} from "./images.js";
import { complain } from "./report-error.js";
import { GuestText } from "./terminal.js";

export interface DisplayPlace {
  readonly stdout: GuestText;
  readonly stream: NodeJS.WritableStream;
  readonly protocol: ImageProtocol | undefined;
  readonly folder: string | undefined;
  readonly onSaved: (path: string) => void;
}

export class Displays {
  readonly #place: DisplayPlace;
  #unshown = 0;

  constructor(place: DisplayPlace) {
    this.#place = place;
  }

  /** Says how many images were not shown, if any. */
  tellUnshown(): void {
    if (this.#unshown === 0) return;
    complain(`not shown: ${counted(this.#unshown, "image")}`, "save them with --images FOLDER");
  }

  show(display: Display): void {
    const { stdout, stream, protocol, folder, onSaved } = this.#place;
    const image = imageOf(display);
    if (image !== undefined) {
      const inline = protocol === undefined ? undefined : inlineImage(protocol, image);
      if (inline !== undefined) {
        stdout.finish(true);
        stream.write(inline);
        return;
      }
      if (folder !== undefined) {
        try {
          onSaved(saveImage(folder, image));
          return;
        } catch (error) {
          complain(describeError(error));
        }
      }
      this.#unshown += 1;
    }
    const text = display.data["text/plain"];
    if (text !== undefined) stdout.write(`${text}\n`);
  }
}

export interface Screen {
  readonly stdout: GuestText;
  readonly stderr: GuestText;
  readonly displays: Displays;
}

/** The standard streams; images that the terminal cannot show go to the folder, if one is given. */
export function openScreen(folder: string | undefined): Screen {
  const stdout = new GuestText(process.stdout);
  const displays = new Displays({
    stdout,
    stream: process.stdout,
    protocol: imageProtocol(process.stdout),
    folder,
    onSaved: (path) => process.stderr.write(`cellar: saved ${path}\n`),
  });
  return { stdout, stderr: new GuestText(process.stderr), displays };
}

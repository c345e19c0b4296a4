import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { loadTokenizer } from "../../dist/agent/observation/tokens.js";
import { openAgent, warm } from "../cellar.mjs";
import { Unavailable } from "../unavailable.mjs";
import { countWhole } from "../whole-text.mjs";

const LEAST_CHARACTERS = 200_000;

/** An archive with Python's reference manual, a file for each topic, and with a short Word document. */
const PACK = `
import io, sys, zipfile
from pydoc_data.topics import topics
notes = [
    "Notes of the release meeting.",
    "Decision 4: breakpoints that nobody removes made the nightly run hang twice.",
    "From now on the test team sets only those of chapter pdb that vanish by themselves.",
    "Decision 5: the next meeting is in June.",
]
paragraphs = "".join("<w:p><w:r><w:t>{}</w:t></w:r></w:p>".format(line) for line in notes)
space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
document = '<w:document xmlns:w="{}"><w:body>{}</w:body></w:document>'.format(space, paragraphs)
word = io.BytesIO()
with zipfile.ZipFile(word, "w") as made:
    made.writestr("[Content_Types].xml", '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>')
    made.writestr("word/document.xml", document)
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as made:
    made.writestr("notes.docx", word.getvalue())
    for name in sorted(topics):
        made.writestr("manual/{}.txt".format(name), topics[name])
sys.stdout.buffer.write("\\n".join([*(topics[name] for name in sorted(topics)), *notes]).encode())
`;

/** A model's cells for the question: which command are testers to use for breakpoints, as the meeting decided? */
const TURNS = [
  'archive_open("manual.zip")',
  'notes = archive_open(archive_file("notes.docx"))\narchive_search("breakpoint", archive=notes)',
  'print(archive_file("document", notes))',
  'archive_open("manual.zip")\narchive_search("temporary breakpoint")',
  'text = archive_file("manual/debugger.txt")\nat = text.lower().index("temporary breakpoint")\nprint(text[at - 200:at + 200])',
  'FINAL("With tbreak: it is removed automatically when it is first hit.")',
];
const EVIDENCE =
  /vanish by themselves[\s\S]*tbreak [\s\S]*removed automatically[\s\S]*\[FINAL accepted\]$/;

/** A question about an archive, answered through its functions, against the text of all its files. */
export const archiveTokens = {
  key: "tokens_archive_saving",
  target: { at_least: 25 },
  async run({ runtime, observe, use }) {
    const zygote = await warm(runtime, {});
    observe(zygote);
    const { path, text } = await use(new Archive()).make(zygote.interpreter.executable);
    const repl = use(await openAgent({}));
    await repl.putFile("manual.zip", readFileSync(path));
    const observations = [];
    for (const code of TURNS) observations.push((await repl.turn(code)).observation);
    const shown = observations.join("\n");
    if (!EVIDENCE.test(shown)) throw new Error(`not found:\n${shown}`);
    const tokenizer = await loadTokenizer();
    const read = [...TURNS, ...observations].reduce((sum, part) => sum + tokenizer.count(part), 0);
    const whole = countWhole(tokenizer, text);
    return {
      ratio: whole / read,
      rows: [
        {
          name: `Cellar, code and observations of ${TURNS.length} turns`,
          unit: "tokens",
          samples: [read],
        },
        { name: "the text of all files in the archive", unit: "tokens", samples: [whole] },
      ],
    };
  },
};

class Archive {
  #folder = mkdtempSync(join(tmpdir(), "cellar-bench-"));

  /** The file, and the text of all that is in it. */
  async make(python) {
    const path = join(this.#folder, "manual.zip");
    const { stdout } = await promisify(execFile)(python, ["-I", "-c", PACK, path], {
      maxBuffer: 32 * LEAST_CHARACTERS,
    }).catch(() => {
      throw new Unavailable("this Python has no pydoc_data (its manual)");
    });
    if (stdout.length < LEAST_CHARACTERS)
      throw new Unavailable(`the manual has ${stdout.length} characters`);
    return { path, text: stdout };
  }

  [Symbol.dispose]() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

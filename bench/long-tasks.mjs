import { cell } from "./loop.mjs";
import { ASK_CODE, ASK_KINDS } from "./oracle.mjs";
import { ask, KINDS } from "./questions.mjs";
import { Random } from "./random.mjs";

const CHARACTERS = 1_000_000;
const CODE = "73914";
const WORDS =
  "the a of and river bridge winter letter old quiet market road stone garden never often under near because morning light".split(
    " ",
  );
const LOOK = cell("print(context_len())\nprint(peek(300))");

/**
 * Questions about a million characters: a context, what a good model would write turn by turn, and the
 * answer, which is known because the context was generated for it.
 */
export function longTasks() {
  return [needle(), counts(), pairs()];
}

/** One fact, worded differently from the question, among many similar ones. */
function needle() {
  const random = new Random(11);
  const lines = [];
  for (let left = CHARACTERS; left > 0; ) {
    const line = sentence(random);
    lines.push(line);
    left -= line.length + 1;
  }
  lines[Math.floor(lines.length * 0.62)] =
    `Whoever wants to come in from the quay presses ${CODE}.`;
  return {
    name: "needle",
    query: "What is the code of the harbour door?",
    context: lines.join("\n"),
    replies: [
      cell('print(context_len())\nprint(peek(300))\nprint(grep("harbour|code"))'),
      cell(`lines = context.split("\\n")
parts = ["\\n".join(lines[i:i + 500]) for i in range(0, len(lines), 500)]
ask = ${JSON.stringify(`${ASK_CODE}\n\n`)}
found = [text for text in llm_query_batched([ask + part for part in parts]) if text != "NONE"]
print(found)`),
      cell("FINAL(found[0])"),
    ],
    expected: CODE,
  };
}

function sentence(random) {
  if (random.below(50) < 1) {
    const digits = String(Math.floor(10_000 + random.below(90_000)));
    return `Whoever wants to come in from the ${random.pick(WORDS)} presses ${digits}.`;
  }
  return Array.from({ length: 12 }, () => random.pick(WORDS)).join(" ");
}

/** Judge every line, then count by user. */
function counts() {
  const records = makeRecords(23, { users: 40 });
  const expected = {};
  for (const { user, kind } of records) {
    expected[user] ??= 0;
    if (kind === "location") expected[user] += 1;
  }
  return {
    name: "counts",
    query: "How many questions did each user ask that want a location as their answer?",
    context: write(records),
    replies: [
      LOOK,
      JUDGE,
      cell(`counts = {row[1]: 0 for row in rows}
for row, kind in zip(rows, kinds):
    counts[row[1]] += kind == "location"
FINAL(counts)`),
    ],
    expected,
  };
}

/** The same, then compare each pair of users. */
function pairs() {
  const records = makeRecords(31, { users: 200 });
  const days = {};
  for (const { user, date } of records.filter(({ kind }) => kind === "human")) {
    days[date] ??= new Set();
    days[date].add(user);
  }
  const found = Object.values(days).flatMap((users) => {
    const ordered = [...users].sort();
    return ordered.flatMap((one, at) => ordered.slice(at + 1).map((other) => `${one} ${other}`));
  });
  return {
    name: "pairs",
    query: "Which pairs of users have asked for a human on the same day?",
    context: write(records),
    replies: [
      LOOK,
      JUDGE,
      cell(`from itertools import combinations
days = {}
for (date, user, _), kind in zip(rows, kinds):
    if kind == "human":
        days.setdefault(date, set()).add(user)
pairs = {pair for users in days.values() for pair in combinations(sorted(users), 2)}
print(len(pairs))
FINAL(sorted(" ".join(pair) for pair in pairs))`),
    ],
    expected: [...new Set(found)].sort(),
  };
}

const JUDGE = cell(`from collections import Counter
rows = [line.split(" || ") for line in context.split("\\n")]
ask = ${JSON.stringify(`${ASK_KINDS}\n\n`)}
parts = ["\\n".join(row[2] for row in rows[i:i + 100]) for i in range(0, len(rows), 100)]
kinds = [kind for text in llm_query_batched([ask + part for part in parts]) for kind in text.split("\\n")]
print(len(rows), len(kinds), Counter(kinds))`);

function makeRecords(seed, { users }) {
  const random = new Random(seed);
  const records = [];
  for (let left = CHARACTERS; left > 0; ) {
    const kind = random.pick(KINDS);
    const date = new Date(Date.UTC(2023, 0, 1 + random.below(1000))).toISOString().slice(0, 10);
    const user = `user_${1000 + Math.floor(random.below(users))}`;
    const record = { date, user, kind, question: ask(kind, random) };
    records.push(record);
    left -= written(record).length + 1;
  }
  return records;
}

function write(records) {
  return records.map(written).join("\n");
}

function written({ date, user, question }) {
  return `${date} || ${user} || ${question}`;
}

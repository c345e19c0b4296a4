/** Kinds of answers, and questions of each kind; braces are placeholders for a thing or a place. */
const QUESTIONS = {
  abbreviation: ["What does the short form {} stand for?", "How is {} abbreviated?"],
  description: ["What is the origin of {}?", "Why do people still care for {}?"],
  entity: ["Which animal is seen most often near {}?", "What colour is {}?"],
  human: ["Who was the first to write about {}?", "Whose idea was {}?"],
  location: ["Where is {} found?", "In what country did {} begin?"],
  number: ["How many visitors does {} have?", "In what year was {} built?"],
};
const THINGS = [
  "the old mill",
  "the glass tower",
  "the long canal",
  "the northern line",
  "the clock",
];
const PEOPLE = [
  "of the weavers",
  "of the monks",
  "of the guild",
  "of the two sisters",
  "of the town",
];

export const KINDS = Object.keys(QUESTIONS);

/** A question of that kind. */
export function ask(kind, random) {
  const subject = `${random.pick(THINGS)} ${random.pick(PEOPLE)}`;
  return random.pick(QUESTIONS[kind]).replace("{}", subject);
}

/** The kind of such a question, judged by its words; undefined for other texts. */
export function kindOf(question) {
  return KINDS.find((kind) =>
    QUESTIONS[kind].some((form) => {
      const [before, after] = form.split("{}");
      return question.startsWith(before) && question.endsWith(after);
    }),
  );
}

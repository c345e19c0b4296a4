export interface SecretRule {
  readonly category: string;
  /** What group 1 matches comes before the secret and stays. */
  readonly pattern: RegExp;
}

/** The longest match of any rule. */
export const LONGEST_SECRET = 64 * 1024;
/** The longest look-behind of any rule. */
export const LOOK_BACK = 16;

// Rules take linear time on any text: repetitions are bounded and not nested, and a match starts
// at the edge of a word or with fixed letters.
const EDGE = "(?<![\\w-])";
const END = "(?![\\w-])";

/** A token with a known beginning. */
function known(...bodies: string[]): RegExp {
  return new RegExp(`${EDGE}(?:${bodies.join("|")})`, "g");
}

const QUOTE = "[\"']";
const MAYBE_QUOTE = `${QUOTE}?`;

/** A value assigned to a name. */
function given(names: string, quote: string, value: string): RegExp {
  const equals = `${MAYBE_QUOTE}[ \\t]{0,8}(?:=>|:=|=|:)[ \\t]{0,8}`;
  return new RegExp(`((?:${names})${equals}${quote})${value}`, "gi");
}

function variable(names: string, value: string): RegExp {
  return new RegExp(`((?:${names})=["']?)${value}`, "g");
}

const PEM = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----";
const LINE_BREAK = "(?:\\\\[rn]|[ \\t\\r\\n])";

/** Not a placeholder or a reference such as `${NAME}`. */
const NO_STAND_IN = "(?![${<%*\\[])";
const HAS_DIGIT = "(?=[A-Za-z_.~!@#%^*+/=|?-]{0,200}\\d)";
const SIGN = "A-Za-z0-9_.~!@#%^*+/=|?-";

/** Not a call or an index, which are always shorter than 64 characters. */
function value(least: number): string {
  return `(?:[${SIGN}]{64,16384}|[${SIGN}]{${least},63}(?![(\\[{${SIGN}]))`;
}

const NO_STATUS =
  "(?!(?:required|optional|string|invalid|missing|undefined|unknown|hidden|password)[\"'])";

const DATABASES =
  "postgres|postgresql|mysql|mariadb|mongodb|redis|rediss|amqp|amqps|mssql|sqlserver|oracle|" +
  "cockroachdb|clickhouse|snowflake|neo4j|bolt";

function address(schemes: string): RegExp {
  const user = "[^\\s:/?#@\"'`]{0,100}";
  const password = "[^\\s/\"'`]{1,200}";
  return new RegExp(`(${schemes}://${user}:)${NO_STAND_IN}${password}(?=@)`, "gi");
}

const SECRET_NAMES =
  "secret|(?:secret|api|access|private|auth|encryption|signing)[_-]?key|client[_-]?secret|" +
  "(?<!page|next|page[_-]|next[_-])token";

/** Specific rules first: the first of several that match names the category. */
export const SECRET_RULES: readonly SecretRule[] = [
  {
    category: "private-key",
    pattern: new RegExp(`-----BEGIN ${PEM}(?:[^-]|-(?!----)){1,32768}-----END ${PEM}`, "g"),
  },
  {
    // Cut off before its END line.
    category: "private-key",
    pattern: new RegExp(
      `-----BEGIN ${PEM}${LINE_BREAK}{1,8}[A-Za-z0-9+/=]{40}[A-Za-z0-9+/=\\\\\\s]{0,32768}`,
      "g",
    ),
  },
  { category: "aws-access-key", pattern: known(`(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}${END}`) },
  {
    category: "aws-secret-key",
    pattern: given(
      "(?:aws_?)?secret_?access_?key|aws_?secret_?key",
      MAYBE_QUOTE,
      "[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])",
    ),
  },
  {
    category: "aws-session-token",
    pattern: given("(?:aws_?)?session_?token", MAYBE_QUOTE, "[A-Za-z0-9+/=]{100,4096}"),
  },
  { category: "anthropic-key", pattern: known("sk-ant-[\\w-]{16,4096}") },
  {
    category: "openai-key",
    pattern: known(
      "sk-(?:proj|svcacct|admin|None|or-v1)-[\\w-]{20,4096}",
      "sk-[A-Za-z0-9]{32,4096}",
    ),
  },
  { category: "google-key", pattern: known(`AIza[\\w-]{35}${END}`) },
  { category: "google-token", pattern: known("(?:ya29\\.|GOCSPX-|1//0)[\\w-]{20,4096}") },
  { category: "github-token", pattern: known("ghp_[A-Za-z0-9]{36,255}") },
  { category: "github-oauth", pattern: known("gho_[A-Za-z0-9]{36,255}") },
  { category: "github-app", pattern: known("gh[us]_[A-Za-z0-9]{36,255}") },
  { category: "github-refresh", pattern: known("ghr_[A-Za-z0-9]{36,255}") },
  { category: "github-fine-grained", pattern: known("github_pat_\\w{22,255}") },
  { category: "gitlab-token", pattern: known("gl(?:pat|dt|rt|cbt|ptt)-[\\w-]{20,255}") },
  {
    category: "slack-token",
    pattern: known("xox[abeoprs]-[A-Za-z0-9-]{10,255}", "xapp-\\d-[A-Za-z0-9-]{10,255}"),
  },
  {
    category: "slack-webhook",
    pattern: /(https:\/\/hooks\.slack\.com\/(?:services|workflows)\/)[\w/-]{20,255}/g,
  },
  {
    category: "stripe-key",
    pattern: known("[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}", "whsec_[A-Za-z0-9+/]{24,255}"),
  },
  { category: "npm-token", pattern: known(`npm_[A-Za-z0-9]{36}${END}`) },
  { category: "pypi-token", pattern: known("pypi-AgE[\\w-]{50,4096}") },
  { category: "hugging-face-token", pattern: known("hf_[A-Za-z0-9]{30,255}") },
  {
    category: "azure-key",
    pattern: given("AccountKey|SharedAccessKey", MAYBE_QUOTE, "[A-Za-z0-9+/]{40,90}={0,2}"),
  },
  { category: "azure-signature", pattern: /([?&]sig=)[A-Za-z0-9%+/=_-]{30,255}/g },
  { category: "azure-secret", pattern: /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/g },
  {
    category: "jwt",
    pattern: known("eyJ[\\w-]{8,8192}\\.eyJ[\\w-]{4,32768}(?:\\.[\\w-]{0,8192})?"),
  },
  {
    category: "bearer-token",
    pattern: /(\bbearer[ \t]{1,4})(?=[A-Za-z._~+/-]{0,200}\d)[A-Za-z0-9._~+/-]{16,16384}={0,2}/gi,
  },
  {
    category: "basic-credentials",
    pattern: given(
      "authorization",
      `${MAYBE_QUOTE}basic[ \\t]{1,4}`,
      "[A-Za-z0-9+/]{6,4096}={0,2}",
    ),
  },
  { category: "database-url", pattern: address(`(?:${DATABASES})(?:\\+\\w{1,20})?`) },
  { category: "url-password", pattern: address("") },
  {
    category: "environment-secret",
    pattern: variable("PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIALS?", NO_STAND_IN + value(6)),
  },
  {
    category: "environment-secret",
    pattern: variable(
      "TOKEN|API_?KEY|(?:SECRET|ACCESS|PRIVATE|ENCRYPTION|SIGNING|AUTH|MASTER|ACCOUNT|APP)_KEY",
      NO_STAND_IN + HAS_DIGIT + value(8),
    ),
  },
  {
    category: "password",
    pattern: given(
      "password|passwd|passphrase",
      QUOTE,
      `${NO_STAND_IN}${NO_STATUS}[^"'\\s]{6,200}(?=["'])`,
    ),
  },
  {
    category: "password",
    pattern: new RegExp(
      `((?:password|passwd|pwd)(?:=|:[ \\t]?))(?![$<%*\\[/~.])${HAS_DIGIT}${value(6)}`,
      "gi",
    ),
  },
  {
    category: "named-secret",
    pattern: given(
      SECRET_NAMES,
      QUOTE,
      `${NO_STAND_IN}${HAS_DIGIT}[A-Za-z0-9_.~+/=-]{16,4096}(?=["'])`,
    ),
  },
];

export const SECRET_CATEGORIES: readonly string[] = [
  ...new Set(SECRET_RULES.map(({ category }) => category)),
];

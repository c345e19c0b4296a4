import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Redactor } from "./redactor.js";
import { LONGEST_SECRET, SECRET_CATEGORIES, SECRET_RULES } from "./rules.js";

const redactor = new Redactor();

/** Letters and digits that stand for a secret; no real one is among them. */
const made = (length: number, alphabet = "Ab3Xy9Qz7Kd2") =>
  alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length);
const LINES = Array.from({ length: 12 }, () => made(64)).join("\n");
const begin = (kind: string) => `-----BEGIN ${kind}PRIVATE KEY-----`;
const end = (kind: string) => `-----END ${kind}PRIVATE KEY-----`;

/** Category, what is found in, and what is left of it; `*` stands for the replacement. */
const SECRETS: readonly [category: string, text: string, left: string][] = [
  ["private-key", `a\n${begin("RSA ")}\n${LINES}\n${end("RSA ")}\nb`, "a\n*\nb"],
  ["private-key", `{"key": "${begin("")}\\n${made(64)}\\n${end("")}\\n"}`, '{"key": "*\\n"}'],
  ["private-key", `${begin("OPENSSH ")}\n${LINES}`, "*"],
  ["private-key", `${begin("EC ")}\nProc-Type: 4,ENCRYPTED\n\n${LINES}\n${end("EC ")}`, "*"],
  ["aws-access-key", `id AKIA${made(16, "ABCD2345")}.`, "id *."],
  ["aws-secret-key", `aws_secret_access_key = ${made(40)}`, "aws_secret_access_key = *"],
  ["aws-secret-key", `"SecretAccessKey": "${made(40)}"`, '"SecretAccessKey": "*"'],
  ["aws-session-token", `AWS_SESSION_TOKEN=${made(300)}`, "AWS_SESSION_TOKEN=*"],
  ["anthropic-key", `sk-ant-api03-${made(90)}-${made(5)}`, "*"],
  ["openai-key", `key: sk-${made(48)}`, "key: *"],
  ["openai-key", `sk-proj-${made(60)}_${made(20)}`, "*"],
  ["openai-key", `sk-or-v1-${made(64, "0a1b")}`, "*"],
  ["google-key", `?key=AIza${made(35)}&x=1`, "?key=*&x=1"],
  ["google-token", `ya29.${made(120)}`, "*"],
  ["github-token", `https://ghp_${made(36)}@github.com`, "https://*@github.com"],
  ["github-oauth", `gho_${made(36)}`, "*"],
  ["github-app", `ghs_${made(36)} ghu_${made(36)}`, "* *"],
  ["github-refresh", `ghr_${made(76)}`, "*"],
  ["github-fine-grained", `github_pat_${made(22)}_${made(59)}`, "*"],
  ["gitlab-token", `glpat-${made(20)}`, "*"],
  ["slack-token", `xoxb-${made(12, "123")}-${made(24)}`, "*"],
  ["slack-token", `xapp-1-${made(11)}-${made(40)}`, "*"],
  [
    "slack-webhook",
    `https://hooks.slack.com/services/T${made(8)}/B${made(8)}/${made(24)}`,
    "https://hooks.slack.com/services/*",
  ],
  ["stripe-key", `sk_live_${made(24)}, rk_test_${made(24)}`, "*, *"],
  ["stripe-key", `whsec_${made(32)}`, "*"],
  ["npm-token", `//registry/:_authToken=npm_${made(36)}`, "//registry/:_authToken=*"],
  ["pypi-token", `pypi-AgEIcHlwaS5vcmc${made(120)}`, "*"],
  ["hugging-face-token", `hf_${made(34)}`, "*"],
  [
    "azure-key",
    `AccountName=me;AccountKey=${made(86)}==;EndpointSuffix=x`,
    "AccountName=me;AccountKey=*;EndpointSuffix=x",
  ],
  ["azure-signature", `?sv=2022&sig=${made(43)}%3D`, "?sv=2022&sig=*"],
  ["azure-secret", `secret abc8Q~${made(34)} here`, "secret * here"],
  ["jwt", `eyJ${made(30)}.eyJ${made(80)}.${made(43)}`, "*"],
  ["bearer-token", `Authorization: Bearer ${made(40)}==`, "Authorization: Bearer *"],
  ["basic-credentials", `Authorization: Basic ${made(24)}==`, "Authorization: Basic *"],
  [
    "database-url",
    "postgresql+psycopg2://me:s3cr@t@db:5432/x",
    "postgresql+psycopg2://me:*@db:5432/x",
  ],
  ["database-url", "redis://:hunter22@cache:6379", "redis://:*@cache:6379"],
  ["url-password", "https://me:tr0ub4dor@example.org/a?b=c@d", "https://me:*@example.org/a?b=c@d"],
  ["environment-secret", "export DB_PASSWORD=correcthorse", "export DB_PASSWORD=*"],
  ["environment-secret", "A=1\nMY_API_KEY=abc12345\nB=2", "A=1\nMY_API_KEY=*\nB=2"],
  ["environment-secret", `TOKEN='${made(20)}'`, "TOKEN='*'"],
  ["environment-secret", `CLIENT_SECRET=${made(3000)}`, "CLIENT_SECRET=*"],
  ["password", 'password = "correcthorse"', 'password = "*"'],
  ["password", "Server=db;Uid=sa;Pwd=Abc12345;", "Server=db;Uid=sa;Pwd=*;"],
  ["password", "db:\n  password: hunter22\n", "db:\n  password: *\n"],
  ["named-secret", `{"api_key": "${made(24)}"}`, '{"api_key": "*"}'],
  ["named-secret", `access_token='${made(40)}'`, "access_token='*'"],
];

describe("redaction", () => {
  it.each(SECRETS)("finds %s, example %#", async (category, text, left) => {
    const redaction = await redactor.redact(text);
    expect(redaction.text).toBe(left.replaceAll("*", `[redacted: ${category}]`));
    expect(redaction.found).toEqual({ [category]: left.split("*").length - 1 });
  });

  it("has an example for every category", () => {
    expect([...new Set(SECRETS.map(([category]) => category))]).toEqual(SECRET_CATEGORIES);
  });

  it("has every category in the documents", () => {
    const page = readFileSync(new URL("../../../docs/agent.md", import.meta.url), "utf8");
    expect(SECRET_CATEGORIES.filter((category) => !page.includes(`\`${category}\``))).toEqual([]);
  });

  it("finds nothing in its own replacements", async () => {
    for (const [, text] of SECRETS) {
      const once = await redactor.redact(text);
      expect(await redactor.redact(once.text)).toEqual({ text: once.text, found: {} });
    }
  });

  it("counts each category by itself", async () => {
    const text = `ghp_${made(36)} and ghp_${made(36)} and sk-${made(40)}`;
    const { found } = await redactor.redact(text);
    expect(found).toEqual({ "github-token": 2, "openai-key": 1 });
  });

  it("calls a secret by its special name, and shows nothing of what surrounds it", async () => {
    const { text, found } = await redactor.redact(`API_KEY=ghp_${made(36)}/more+secret`);
    expect(text).toBe("API_KEY=[redacted: github-token]");
    expect(found).toEqual({ "github-token": 1 });
  });

  it("leaves the categories that it is told to, and refuses unknown ones", async () => {
    const lenient = new Redactor({ except: ["jwt", "password"] });
    const kept = `eyJ${made(30)}.eyJ${made(80)}.${made(43)} password: "correcthorse"`;
    expect(await lenient.redact(kept)).toEqual({ text: kept, found: {} });
    expect((await lenient.redact(`hf_${made(34)}`)).found).toEqual({ "hugging-face-token": 1 });
    expect(() => new Redactor({ except: ["jwts"] })).toThrow(/jwts/);
  });
});

describe("long texts", () => {
  const secret = `ghp_${made(36)}`;

  it("are searched whole, wherever a secret lies", async () => {
    // Every place that a part of the text may end at is within one of these.
    for (const around of [256 * 1024, 512 * 1024, 1024 * 1024]) {
      for (let shift = -45; shift <= 5; shift += 5) {
        const text = `${"word ".repeat(around).slice(0, around + shift - 1)} ${secret} end`;
        const { text: left, found } = await redactor.redact(text);
        expect(found).toEqual({ "github-token": 1 });
        expect(left.endsWith(" [redacted: github-token] end")).toBe(true);
      }
    }
  });

  it("have a key over the end of a part taken out once", async () => {
    const key = `${begin("RSA ")}\n${LINES}\n${end("RSA ")}`;
    for (const shift of [1, 10, 30, 100, 700]) {
      const before = "x ".repeat(256 * 1024).slice(0, 256 * 1024 - shift);
      const { text, found } = await redactor.redact(`${before}${key} end`);
      expect(found).toEqual({ "private-key": 1 });
      expect(text).toBe(`${before}[redacted: private-key] end`);
    }
  });

  it("do not begin a secret in the middle of a word", async () => {
    for (let shift = 0; shift <= 40; shift += 1) {
      const text = `${"a".repeat(256 * 1024 - shift)}${secret}`;
      expect((await redactor.redact(text)).found).toEqual({});
    }
  });

  it("do not end a word where only the search ends", async () => {
    const name = `AKIA${made(16, "ABCD2345")}`;
    for (let shift = -3; shift <= 3; shift += 1) {
      const before = " ".repeat(256 * 1024 + LONGEST_SECRET - name.length + shift);
      expect((await redactor.redact(`${before}${name}WITHMORE`)).found).toEqual({});
    }
  });

  it("let themselves be given up", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(redactor.redact("x".repeat(600_000), signal)).rejects.toThrow("enough");
  });
});

describe("the patterns", () => {
  const sources = SECRET_RULES.map(({ category, pattern }) => [category, pattern.source] as const);

  it.each(sources)("of %s repeat within bounds, and no repetition holds another", (_, source) => {
    const atoms = source.replace(/\\./g, "e").replace(/\[(?:[^\]])*\]/g, "c");
    expect(atoms).not.toMatch(/[*+]|\{\d+,\}/);
    const bounds = [...atoms.matchAll(/\{(?:\d+,)?(\d+)\}/g)].map(([, most]) => Number(most));
    expect(bounds.reduce((sum, most) => sum + most, 0)).toBeLessThan(LONGEST_SECRET);
    let inner = atoms;
    for (let group = /\((?:\?(?:[:=!]|<[=!]))?([^()]*)\)(\{[\d,]+\}|\??)/; group.test(inner); ) {
      inner = inner.replace(group, (_whole, body: string, times: string) => {
        if (times.startsWith("{")) expect(body).not.toMatch(/[{?]/);
        return body.includes("{") ? "c{2}" : "c";
      });
    }
  });

  it.each([
    "a",
    "A",
    "-",
    "=",
    " ",
    "eyJ",
    "eyJaaaaaaaaaaaa.",
    "abc8Q~",
    "sk-ant-",
    "A_SECRET=",
    "-A_SECRET=",
    "TOKEN=a",
    "bearer ",
    "bearer a",
    "password=",
    'password="',
    "password        ",
    "token='",
    "a://b:",
    "http://a:b@",
    "postgres://:",
    "postgres://u:@",
    "authorization: basic ",
    "?sig=",
    "secret_key",
    begin(""),
    `${begin("")}\n${made(64)}\n`,
    `${begin("")}x-`,
  ])("come to an end with a megabyte of %j", async (piece) => {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    expect((await redactor.redact(text)).text.length).toBeGreaterThan(0);
  });
});

describe("ordinary text", () => {
  const image = Buffer.from(Array.from({ length: 60_000 }, (_, n) => (n * n * 31 + n * 7) % 251));
  it.each([
    [
      "git hashes",
      "commit 9fceb02d0ae598e95dc970b74767f19372d61af8\nindex 83db48f..bf2f1a1 100644",
    ],
    [
      "identifiers",
      "id=123e4567-e89b-12d3-a456-426614174000 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ],
    ["an image", `data:image/png;base64,${image.toString("base64")}`],
    [
      "calls",
      "token = tokenizer.next()\npassword = getpass()\nPASSWORD=getpass.getpass('x1')\nAPI_KEY=os.environ['API_KEY2']",
    ],
    ["types", "def login(password: str, token: Optional[str] = None, secret: bytes = b''): ..."],
    [
      "keyword arguments",
      "connect(user=user, password=password, api_key=api_key, max_tokens=1000)",
    ],
    [
      "settings",
      "MAX_TOKENS=100000\nTOKENIZERS_PARALLELISM=false\nPRIMARY_KEY=customer_id\nPWD=/home/me2/work",
    ],
    [
      "place holders",
      "API_KEY=$API_KEY2\nDB_PASSWORD=<password1>\npassword: '{{ vault1 }}'\nurl = f'postgres://{user}:{password}@{host}'",
    ],
    ["status words", '{"password": "required", "token": "invalid_grant"}'],
    ["tokens of words", "[{'token': 'Hello2'}, {'token': 'running'}] n_tokens: 12345"],
    [
      "pages",
      "{'next_page_token': 'CAoQAA1234567890abcdef', 'nextToken': 'abcdef1234567890abcdef'}",
    ],
    [
      "addresses",
      "http://localhost:3000/@scope https://example.org/a:b@c git@github.com:me/x.git 10.0.0.1:80",
    ],
    [
      "style names",
      "sk-loading-spinner-container-large sk-folding-cube eyJustAWord npm_config_registry hf_hub_download",
    ],
    [
      "prose",
      "The bearer of internationalization asked for a secret: nothing. Basic authentication is old.",
    ],
    [
      "a public key",
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabc me@host\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
    [
      "talk of keys",
      `It starts with ${begin("RSA ")} and the body follows in base64 until the end.`,
    ],
    [
      "tables",
      Array.from({ length: 200 }, (_, n) => `${n},user${n},${n * 1.5},2024-01-${n % 28}`).join(
        "\n",
      ),
    ],
  ])("stays as it is: %s", async (_, text) => {
    expect(await redactor.redact(text)).toEqual({ text, found: {} });
  });
});

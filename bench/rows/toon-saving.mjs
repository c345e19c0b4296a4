import { loadTokenizer } from "../../dist/agent/observation/tokens.js";
import { Renderer } from "../../dist/agent/observation/toon.js";

const ROWS = 100;
const PEOPLE = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov"];
const LEVELS = ["INFO", "WARNING", "ERROR"];

/** Typical tables of agents, with the same numbers in each run. */
const TABLES = {
  orders: (n) => ({
    id: 10_000 + n,
    customer: PEOPLE[(n * 7) % PEOPLE.length],
    items: (n * 13) % 9,
    total: ((n * 7919) % 50_000) / 100,
    currency: "EUR",
    paid: n % 3 !== 0,
    created: `2026-0${1 + (n % 9)}-${10 + (n % 19)}`,
  }),
  events: (n) => ({
    time: `2026-03-0${1 + (n % 9)}T0${n % 10}:${10 + (n % 50)}:00Z`,
    level: LEVELS[(n * n) % LEVELS.length],
    service: `worker-${n % 4}`,
    message: `request ${n * 31} took ${(n * 17) % 900} ms`,
    status: 200 + (n % 5) * 100,
  }),
  measurements: (n) => ({
    station: `S${n % 12}`,
    temperature: ((n * 37) % 400) / 10,
    humidity: (n * 53) % 100,
    pressure: 980 + ((n * 11) % 50),
  }),
};

/** Tokens of uniform rows as a model reads them, against indented JSON. */
export const toonSaving = {
  key: "toon_saving_percent",
  target: { at_least: 50 },
  async run() {
    const tokenizer = await loadTokenizer();
    const renderer = await Renderer.load({ tokenizer });
    const tables = Object.values(TABLES).map((row) =>
      Array.from({ length: ROWS }, (_, n) => row(n)),
    );
    const count = (write) => tables.map((table) => tokenizer.count(write(table)));
    const shown = count((table) => renderer.render(table).text);
    const indented = count((table) => JSON.stringify(table, null, 2));
    const compact = count((table) => JSON.stringify(table));
    const against = (others) => 100 * (1 - sum(shown) / sum(others));
    return {
      ratio: against(indented),
      rows: [
        { name: "Cellar, 100 uniform rows as TOON", unit: "tokens", samples: shown },
        { name: "the same as indented JSON", unit: "tokens", samples: indented },
        { name: "the same as compact JSON", unit: "tokens", samples: compact },
        { name: "saving against compact JSON", unit: "%", samples: [against(compact)] },
      ],
    };
  },
};

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

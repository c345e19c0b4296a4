import { AttackFixture } from "./attack-fixture.js";
import { campaign, readCells } from "./campaign.js";
import { MORE_EXPECTATIONS } from "./more-expectations.js";

const fixture = new AttackFixture();

campaign(readCells("more-cells.json"), MORE_EXPECTATIONS, fixture);

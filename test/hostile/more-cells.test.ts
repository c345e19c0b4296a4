import { Grounds } from "./attack-fixture.js";
import { campaign, readCells } from "./campaign.js";
import { MORE_EXPECTATIONS } from "./more-expectations.js";

const grounds = new Grounds();

campaign(readCells("more-cells.json"), MORE_EXPECTATIONS, grounds);

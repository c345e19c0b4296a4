import { AttackFixture } from "../attack-fixture.js";
import { HEAD } from "./head.js";
import { section } from "./section.js";

section({
  file: "head.json",
  expectations: HEAD,
  fixture: new AttackFixture(),
  isConcurrent: true,
});

import { AttackFixture } from "../attack-fixture.js";
import { PARKED } from "./parked.js";
import { section } from "./section.js";

section({
  file: "parked.json",
  expectations: PARKED,
  fixture: new AttackFixture(),
  isConcurrent: true,
});

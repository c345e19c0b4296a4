import { AttackFixture } from "../attack-fixture.js";
import { section } from "./section.js";
import { SUPERVISOR } from "./supervisor.js";

section({ file: "supervisor.json", expectations: SUPERVISOR, fixture: new AttackFixture() });

import { AttackFixture } from "../attack-fixture.js";
import { INIT } from "./init.js";
import { section } from "./section.js";

section({ file: "init.json", expectations: INIT, fixture: new AttackFixture() });

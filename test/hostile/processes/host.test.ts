import { AttackFixture } from "../attack-fixture.js";
import { HOST } from "./host.js";
import { section } from "./section.js";

section({ file: "host.json", expectations: HOST, fixture: new AttackFixture() });

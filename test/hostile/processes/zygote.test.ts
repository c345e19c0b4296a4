import { AttackFixture } from "../attack-fixture.js";
import { section } from "./section.js";
import { ZYGOTE } from "./zygote.js";

section({ file: "zygote.json", expectations: ZYGOTE, fixture: new AttackFixture() });

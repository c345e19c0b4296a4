import { Grounds } from "../attack-fixture.js";
import { section } from "./section.js";
import { ZYGOTE } from "./zygote.js";

section({ file: "zygote.json", expectations: ZYGOTE, grounds: new Grounds() });

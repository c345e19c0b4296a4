import { Grounds } from "../attack-fixture.js";
import { PARKED } from "./parked.js";
import { section } from "./section.js";

section({ file: "parked.json", expectations: PARKED, grounds: new Grounds(), isConcurrent: true });

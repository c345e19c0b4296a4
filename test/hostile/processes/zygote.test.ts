import { Grounds } from "../grounds.js";
import { section } from "./section.js";
import { ZYGOTE } from "./zygote.js";

section({ file: "zygote.json", expectations: ZYGOTE, grounds: new Grounds() });

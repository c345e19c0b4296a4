export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --sheet: #ffffff; --ink: #22252b; --faint: #6c7280; --line: #e2dfd7;
  --code: #f4f2ec; --run: #6d6a75; --turn: #8b8794; --model: #2f6fb4; --cell: #2c8a6b;
  --sub: #8a55b0; --bad: #b93a34; --good: #2c8a6b; --mark: #fff0b8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181c; --sheet: #1d2026; --ink: #e4e4e2; --faint: #979ca8; --line: #30343c;
    --code: #14161a; --run: #9c99a6; --turn: #a3a0ad; --model: #6aa7e6; --cell: #5cbf9c;
    --sub: #c196e4; --bad: #ee8079; --good: #5cbf9c; --mark: #4a4117;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, "Liberation Sans", "DejaVu Sans", sans-serif;
}
header {
  position: sticky; top: 0; z-index: 1; display: flex; gap: .6rem; align-items: center;
  padding: .55rem 1.2rem; background: var(--sheet); border-bottom: 1px solid var(--line);
}
header b { margin-right: auto; }
header input {
  width: min(20rem, 40vw); padding: .3rem .6rem; font: inherit; color: inherit;
  background: var(--paper); border: 1px solid var(--line); border-radius: 6px;
}
header button {
  padding: .3rem .7rem; font: inherit; color: inherit; cursor: pointer;
  background: var(--paper); border: 1px solid var(--line); border-radius: 6px;
}
#found { min-width: 5.5rem; color: var(--faint); font-variant-numeric: tabular-nums; }
main { max-width: 86rem; margin: 0 auto; padding: 1rem 1.2rem 4rem; }
section { margin-bottom: 2.5rem; }
h1 { margin: .4rem 0 .2rem; font-size: 1.3rem; line-height: 1.3; overflow-wrap: anywhere; }
.facts { margin: .2rem 0 .8rem; color: var(--faint); }
.facts span:not(:last-child)::after { content: " · "; }
.badge {
  padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .85em;
}
.good { color: var(--good); } .bad { color: var(--bad); }
table { margin: 0 0 1rem; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem 1.2rem .15rem 0; text-align: right; font-weight: normal; }
th { color: var(--faint); } th:first-child, td:first-child { text-align: left; }
summary {
  display: grid; gap: .8rem; align-items: center; padding: .18rem .3rem; cursor: pointer;
  grid-template-columns: minmax(0, 1fr) 8.5rem 5rem 5.5rem clamp(5rem, 22vw, 22rem);
  border-radius: 5px; font-variant-numeric: tabular-nums; list-style: none;
}
summary::-webkit-details-marker { display: none; }
summary:hover { background: var(--code); }
summary:focus-visible { outline: 2px solid var(--model); }
.what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.what::before { content: "▸"; display: inline-block; width: 1.1em; color: var(--faint); }
details[open] > summary > .what::before { content: "▾"; }
.what b { margin-right: .5rem; color: var(--kind); font-weight: 600; }
.what i { margin-right: .5rem; font-style: normal; }
summary > :nth-child(n + 2):nth-child(-n + 4) { text-align: right; color: var(--faint); }
.track { position: relative; height: .7rem; border-radius: 3px; background: var(--line); }
.track i {
  position: absolute; top: 0; bottom: 0; min-width: 2px; border-radius: 3px;
  background: var(--kind);
}
.run { --kind: var(--run); } .turn { --kind: var(--turn); } .model { --kind: var(--model); }
.cell { --kind: var(--cell); } .sub { --kind: var(--sub); } .part { --kind: var(--turn); }
.parts { margin-left: .55rem; padding-left: .75rem; border-left: 1px solid var(--line); }
.own { margin: .2rem 0 .5rem 1.35rem; }
.own p { margin: .3rem 0; color: var(--faint); overflow-wrap: anywhere; }
.own h2 { margin: .5rem 0 .15rem; color: var(--faint); font-size: .8rem; font-weight: 600; }
pre {
  max-height: 28rem; margin: 0; padding: .55rem .75rem; overflow: auto; background: var(--code);
  border: 1px solid var(--line); border-left: 3px solid var(--kind); border-radius: 5px;
  font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4;
}
pre.bad { border-left-color: var(--bad); color: inherit; }
.searching .node:not(.hit):not(.way) { display: none; }
.hit > summary { background: var(--mark); }
.here > summary { outline: 2px solid var(--model); }
@media (max-width: 48rem) {
  summary { grid-template-columns: minmax(0, 1fr) 5.5rem; }
  summary > :nth-child(2), summary > :nth-child(3), .track { display: none; }
  header { flex-wrap: wrap; }
}
`;

/** How an exported page looks, by day and by night. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: #1f2328; --dim: #6a737d; --page: #fff; --box: #f6f8fa;
  --line: #d0d7de; --good: #2da44e; --bad: #cf222e; --warn: #9a6700; --badbox: #fff5f5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #8d96a0; --page: #0d1117;
  --box: #161b22; --line: #30363d; --good: #3fb950; --bad: #f85149; --warn: #d29922;
  --badbox: #2a1618; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
header p, h2 span, .table p, small { color: var(--dim); }
h1 { margin: 0; font-size: 1.5rem; overflow-wrap: anywhere; }
header p { margin: 0 0 1.5rem; }
h2 { margin: 0 0 .3rem; font: 600 .8rem ui-monospace, monospace; }
h2 span { font-weight: 400; margin-left: .5rem; }
.cell { margin: 0 0 1.75rem; padding-left: .8rem; border-left: 3px solid var(--line); }
.completed { border-color: var(--good); }
.error, .timeout, .oom, .crashed { border-color: var(--bad); }
.cancelled { border-color: var(--warn); }
.undone { opacity: .6; }
pre { margin: 0; padding: .6rem .8rem; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace;
  border-radius: 6px; }
.code { background: var(--box); border: 1px solid var(--line); counter-reset: line; }
.code span { counter-increment: line; }
.code span::before { content: counter(line); display: inline-block; min-width: 2ch;
  margin-right: 1rem; text-align: right; color: var(--dim); user-select: none; }
.prose { padding: 0; font: inherit; white-space: pre-wrap; }
.output { margin: .4rem 0 0; }
pre.output { white-space: pre-wrap; overflow-wrap: anywhere; }
pre.stderr { background: var(--box); color: var(--warn); }
pre.error { background: var(--badbox); color: var(--bad); }
img.output { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
iframe.output { display: block; width: 100%; border: 1px solid var(--line); border-radius: 6px;
  resize: vertical; overflow: auto; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
small { display: block; font-weight: 400; }
.table p, .note { margin: .3rem 0 0; font-size: .85rem; }
.note { color: var(--warn); }
`;

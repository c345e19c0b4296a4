/* Runs in the browser. The page's policy has its hash, so no other script runs there. */
(() => {
  const box = document.getElementById("search");
  const told = document.getElementById("found");
  const nodes = [...document.querySelectorAll("details.node")];
  const texts = new Map();
  let before;
  let hits = [];
  let at = -1;

  const above = (node) => node.parentElement.closest("details.node");
  const textOf = (node) => {
    let text = texts.get(node);
    if (text === undefined) {
      const parts = node.querySelectorAll(":scope > summary > .what, :scope > .own");
      text = [...parts]
        .map((part) => part.textContent)
        .join("\n")
        .toLowerCase();
      texts.set(node, text);
    }
    return text;
  };

  const forget = () => {
    for (const node of nodes) node.classList.remove("hit", "way", "here");
    hits = [];
    at = -1;
  };

  const search = () => {
    const wanted = box.value.trim().toLowerCase();
    forget();
    document.body.classList.toggle("searching", wanted !== "");
    if (wanted === "") {
      if (before) for (const [node, isOpen] of before) node.open = isOpen;
      before = undefined;
      told.textContent = "";
      return;
    }
    before ??= nodes.map((node) => [node, node.open]);
    for (const node of nodes) {
      if (!textOf(node).includes(wanted)) continue;
      node.classList.add("hit");
      hits.push(node);
      for (let up = above(node); up && !up.classList.contains("way"); up = above(up)) {
        up.classList.add("way");
        up.open = true;
      }
    }
    told.textContent = hits.length === 1 ? "1 found" : `${hits.length} found`;
  };

  const go = (step) => {
    if (hits.length === 0) return;
    hits[at]?.classList.remove("here");
    at = (at + step + hits.length) % hits.length;
    const node = hits[at];
    node.classList.add("here");
    node.open = true;
    node.scrollIntoView({ block: "center" });
    told.textContent = `${at + 1} of ${hits.length}`;
  };

  let timer;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 120);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    go(event.shiftKey && at >= 0 ? -1 : 1);
  });
  for (const [id, isOpen] of [
    ["open-all", true],
    ["close-all", false],
  ]) {
    document.getElementById(id).addEventListener("click", () => {
      for (const node of nodes) node.open = isOpen;
    });
  }
})();

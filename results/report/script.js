"use strict";
// The page is whole without this script. It adds: values of marks in a line that is easy to read, tables that sort, a button that copies.
(function () {
  const shown = document.createElement("div");
  shown.id = "value";
  shown.setAttribute("role", "status");
  document.body.append(shown);
  let hit = null;
  document.addEventListener("pointerover", (e) => {
    const mark = e.target instanceof Element ? e.target.closest("svg circle, svg rect, svg path") : null;
    const title = mark && mark.querySelector("title");
    if (hit) hit.classList.remove("hit");
    hit = title ? mark : null;
    if (hit) hit.classList.add("hit");
    shown.textContent = title ? title.textContent : "";
  });
  const number = (cell) => parseFloat(cell.dataset.value ?? cell.textContent.replace(/,/g, ""));
  function sort(table, column, down) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows];
    rows.sort((a, b) => {
      const x = a.cells[column], y = b.cells[column], n = number(x), m = number(y);
      const order = Number.isNaN(n) || Number.isNaN(m) ? x.textContent.localeCompare(y.textContent) : n - m;
      return down ? -order : order;
    });
    body.append(...rows);
  }
  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.querySelector("button")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, column, head.getAttribute("aria-sort") === "ascending"));
    });
  }
  function prepare(root) {
    root.querySelectorAll("table.sort").forEach(sortable);
    root.querySelectorAll("pre[data-copy]").forEach((text) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text.textContent);
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(text);
        }
      });
      text.before(button);
    });
  }
  window.tunePrepare = prepare;
  window.tuneSort = sort;
  prepare(document);
})();

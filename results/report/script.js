"use strict";
// The page is whole without this script. It adds: values of marks in a line that is easy to read, for the mouse and the
// keyboard, tables that sort, a button that copies.
(function () {
  const shown = document.createElement("div");
  shown.id = "value";
  shown.setAttribute("role", "status");
  document.body.append(shown);
  let hit = null;
  let closed = false; // whether Escape has closed the value of the mark with the focus
  const titled = (mark) => mark && mark.querySelector("title");
  // A mark is what has a title; its value is that.
  function markOf(at) {
    const mark = at instanceof Element ? at.closest("svg circle, svg rect, svg path") : null;
    return titled(mark) ? mark : null;
  }
  function show(mark) {
    if (hit) hit.classList.remove("hit");
    hit = mark;
    if (hit) hit.classList.add("hit");
    shown.textContent = mark ? titled(mark).textContent : "";
  }
  // A page that scrolls to the focus moves below a mouse that rests.
  document.addEventListener("pointerover", (e) => show(markOf(e.target) || (closed ? null : markOf(document.activeElement))));
  function focused(mark) {
    closed = false;
    show(mark);
  }
  function close() {
    closed = true;
    show(null);
  }
  document.addEventListener("focusin", (e) => focused(markOf(e.target)));
  // The keyboard stops once at each chart. There, arrows go from mark to mark, and Escape closes the value.
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") close();
    const mark = markOf(e.target), step = steps[e.key];
    if (!mark || step === undefined || e.altKey || e.ctrlKey || e.metaKey) return;
    const marks = [...mark.closest("svg").querySelectorAll("circle, rect, path")].filter(titled);
    e.preventDefault();
    reach(marks[Math.min(Math.max(marks.indexOf(mark) + step, 0), marks.length - 1)]);
  });
  // reach moves the stop of a chart to one of its marks, and the focus with it.
  function reach(mark) {
    for (const other of mark.closest("svg").querySelectorAll("[tabindex]")) other.removeAttribute("tabindex");
    mark.setAttribute("tabindex", "0");
    mark.focus();
    focused(mark); // also where it had the focus
  }
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
  // A mark that is drawn anew has the focus of the one before, and its value stays closed.
  window.tuneReach = (mark) => {
    const kept = closed;
    reach(mark);
    if (kept) close();
  };
  prepare(document);
})();

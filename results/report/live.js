"use strict";
// The server sends what has changed, as parts of the page that it has escaped already. What the user has chosen, opened and sorted stays,
// and so does the focus of the keyboard.
(function () {
  const state = document.getElementById("connection");
  // What the keyboard reaches is known by its name, and by how many of that name are before it.
  const reached = "a, button, input, summary, svg circle, svg rect, svg path";
  const named = (e) => e.tagName + " " + (e.value || e.getAttribute("href") || e.textContent);
  function place(at, e) {
    if (!at.contains(e) || !e.matches(reached)) return null;
    const name = named(e), alike = [...at.querySelectorAll(reached)].filter((o) => named(o) === name);
    return { name, before: alike.indexOf(e) };
  }
  const source = new EventSource(document.body.dataset.events);
  let told = false; // whether the server has said that it ends, and why
  source.onopen = () => { told = false; state.textContent = "live"; };
  source.onerror = () => { if (!told) state.textContent = "not connected: the server has ended, or cannot be reached"; };
  source.addEventListener("part", (e) => {
    const part = JSON.parse(e.data);
    const at = document.getElementById(part.id);
    if (!at) return;
    told = at === state;
    const chosen = new Set([...at.querySelectorAll("input:checked")].map((i) => i.value));
    const open = [...at.querySelectorAll("details")].map((d) => d.open);
    const sorted = [...at.querySelectorAll("table.sort")].map((t) => {
      const heads = [...t.tHead.rows[0].cells], column = heads.findIndex((h) => h.hasAttribute("aria-sort"));
      return { names: t.tHead.textContent, column, down: column >= 0 && heads[column].getAttribute("aria-sort") === "descending" };
    });
    const focus = place(at, document.activeElement);
    at.innerHTML = part.html;
    at.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
    at.querySelectorAll("input").forEach((i) => { i.checked = chosen.has(i.value); });
    window.tunePrepare(at);
    at.querySelectorAll("table.sort").forEach((t) => {
      const k = sorted.findIndex((s) => s.names === t.tHead.textContent);
      if (k < 0) return;
      const [s] = sorted.splice(k, 1);
      if (s.column >= 0) window.tuneSort(t, s.column, s.down);
    });
    const kept = focus && [...at.querySelectorAll(reached)].filter((e) => named(e) === focus.name)[focus.before];
    if (kept instanceof SVGElement) window.tuneReach(kept);
    else if (kept) kept.focus();
  });
})();

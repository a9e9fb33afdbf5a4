"use strict";
// The server sends what has changed, as parts of the page that it has escaped already.
(function () {
  const state = document.getElementById("connection");
  const source = new EventSource(document.body.dataset.events);
  source.onopen = () => { state.textContent = "live"; };
  source.onerror = () => { state.textContent = "not connected: the server has ended, or cannot be reached"; };
  source.addEventListener("part", (e) => {
    const part = JSON.parse(e.data);
    const at = document.getElementById(part.id);
    if (!at) return;
    const chosen = new Set([...at.querySelectorAll("input:checked")].map((i) => i.value));
    const open = [...at.querySelectorAll("details")].map((d) => d.open);
    at.innerHTML = part.html;
    at.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
    at.querySelectorAll("input").forEach((i) => { i.checked = chosen.has(i.value); });
    window.tunePrepare(at);
  });
})();

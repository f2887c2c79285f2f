// Runs before the page is drawn, so that it never flashes in the other colours.
"use strict";
try {
  const wanted = localStorage.getItem("ralph-theme");
  if (wanted === "light" || wanted === "dark") document.documentElement.dataset.theme = wanted;
} catch { /* no storage: as the system */ }

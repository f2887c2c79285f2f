// Live updates, keyboard, colours, comments. Every page also works without it.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const base = root.dataset.base;

  // live

  const live = $("#live");
  let source = null, cursor = root.dataset.cursor || "", timer = 0, busy = false, again = false, took = 0, last = 0;

  function say(state, text) {
    live.dataset.state = state;
    $("span", live).textContent = text;
  }

  function connect() {
    if (source) return;
    say("waiting", "connecting");
    source = new EventSource(`${base}/events?since=${encodeURIComponent(cursor)}`);
    source.onopen = () => { say("on", "live"); refresh(); };
    source.onerror = () => {
      say("off", "reconnecting");
      if (source.readyState === EventSource.CLOSED) { disconnect(); setTimeout(connect, 2000); }
    };
    source.addEventListener("journal", (message) => { cursor = message.lastEventId; heard(JSON.parse(message.data)); refresh(); });
    source.addEventListener("changed", refresh);
    source.addEventListener("reload", (message) => { cursor = message.lastEventId; refresh(); });
  }

  function disconnect() {
    source?.close();
    source = null;
  }

  function heard(event) {
    const ticker = $("#ticker");
    ticker.textContent = [event.at.slice(11, 19), event.work, event.name.replaceAll("_", " "), event.text].filter(Boolean).join(" · ");
    ticker.dataset.place = `${event.run}:${event.seq}`;
    document.dispatchEvent(new CustomEvent("ralph:event", { detail: event }));
  }

  // At once if the page rests; while much happens, no more often than the page can bear.
  function refresh() {
    if ("still" in root.dataset) return; // it says how a form ended
    if (busy) { again = true; return; }
    if (timer) return;
    const rest = Math.max(0, last + Math.max(120, took * 4) - performance.now());
    timer = setTimeout(load, rest);
  }

  async function load() {
    timer = 0;
    busy = true;
    const began = performance.now();
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
      if (answer.status === 401) { say("off", "signed out"); disconnect(); return; }
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (location.href === answer.url) show(fresh);
      }
    } catch { /* the stream says that the server is gone */ } finally {
      busy = false;
      last = performance.now();
      took = last - began;
      if (again) { again = false; refresh(); }
    }
  }

  function show(fresh) {
    if (fresh.title) document.title = fresh.title;
    const header = $("header.top", fresh), main = $("#main", fresh);
    if (header) Morph.node($("header.top"), header);
    if (main) Morph.node($("#main"), main);
    commentable();
    tick();
  }

  function tick() {
    for (const time of $$("time[data-since]")) {
      const seconds = Math.max(0, Math.round(Date.now() / 1000 - Number(time.dataset.since)));
      const minutes = Math.floor(seconds / 60);
      time.textContent = minutes < 1 ? `${seconds} s` : minutes < 60 ? `${minutes} m ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
    }
  }

  // A tab that nobody sees lets go of its connection after a while: browsers allow six of them for each server.
  let hidden = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(() => { disconnect(); say("waiting", "paused"); }, 30000);
    else { connect(); refresh(); }
  });

  // colours

  const theme = $("#theme");
  function turn() {
    const order = ["", "light", "dark"];
    const next = order[(order.indexOf(root.dataset.theme || "") + 1) % 3];
    if (next) root.dataset.theme = next; else delete root.dataset.theme;
    try { next ? localStorage.setItem("ralph-theme", next) : localStorage.removeItem("ralph-theme"); } catch { /* only now */ }
    theme.title = `Colours: ${next || "as the system"}`;
  }
  theme.hidden = false;
  theme.addEventListener("click", turn);

  // help

  const help = $("#help"), open = $("#help-open");
  open.hidden = false;
  open.addEventListener("click", () => help.showModal());

  // comments on lines become the note for the next attempt

  const comments = new Map();
  let written = "";

  function commentable() {
    const note = $("#note");
    if (!note) return;
    for (const table of $$("table.diff")) {
      for (const row of $$("tr:not(.hunk):not(.mine)", table)) {
        if ($(".comment", row)) continue;
        const button = document.createElement("button");
        button.type = "button";
        button.className = "comment";
        button.dataset.mine = "1";
        button.textContent = "+";
        const number = $$(".ln", row).map((cell) => cell.textContent.trim()).filter(Boolean).pop();
        button.setAttribute("aria-label", `Comment on ${table.dataset.file} line ${number}`);
        button.addEventListener("click", () => comment(table, row, `${table.dataset.file}:${number}`));
        row.lastElementChild.append(button);
      }
    }
  }

  function comment(table, row, place) {
    const before = row.nextElementSibling;
    if (before?.classList.contains("mine")) { $("textarea", before).focus(); return; }
    const line = document.createElement("tr");
    line.className = "mine";
    line.dataset.mine = "1";
    const cell = document.createElement("td");
    cell.colSpan = 3;
    const text = document.createElement("textarea");
    text.rows = 2;
    text.maxLength = 500;
    text.setAttribute("aria-label", `Comment on ${place}`);
    text.addEventListener("input", () => { comments.set(place, text.value); gather(); });
    text.addEventListener("keydown", (event) => { if (event.key === "Escape") { comments.delete(place); gather(); line.remove(); } });
    cell.append(text);
    line.append(cell);
    row.after(line);
    text.focus();
  }

  function unfold() {
    const folded = $("#note")?.closest("details");
    if (folded) folded.open = true;
  }

  // A form in which something is written stays as it is, whatever happens meanwhile.
  function hold() {
    const note = $("#note");
    note?.closest("[data-key=act]")?.toggleAttribute("data-busy", Boolean(note.value));
  }
  document.addEventListener("input", (event) => { if (event.target.id === "note") hold(); });

  // What a person has typed stays; only the part that the comments wrote is written again.
  function gather() {
    const note = $("#note");
    unfold();
    const own = note.value.endsWith(written) ? note.value.slice(0, note.value.length - written.length).trimEnd() : note.value;
    const told = [...comments].filter(([, text]) => text.trim()).map(([place, text]) => `${place}: ${text.trim()}`).join("; ");
    written = told && own ? ` ${told}` : told;
    note.value = (own + written).slice(0, note.maxLength);
    hold();
  }

  document.addEventListener("submit", (event) => {
    const asks = event.target.dataset?.asks;
    if (asks && !confirm(asks)) event.preventDefault();
  });

  // keyboard

  const cards = () => $$("#main .column:not([hidden]) .card a.whole, #main .plans a.whole, #main table.attempts th a");

  function step(by) {
    const all = cards(), at = all.indexOf(document.activeElement);
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  function aside(by) {
    const columns = $$("#main .column"), at = columns.findIndex((column) => column.contains(document.activeElement));
    for (let index = at + by; index >= 0 && index < columns.length; index += by) {
      const first = $("a.whole", columns[index]);
      if (first) { first.focus(); first.scrollIntoView({ block: "nearest", inline: "nearest" }); return; }
    }
  }

  const keys = {
    j: () => step(1), k: () => step(-1), h: () => aside(-1), l: () => aside(1), t: turn,
    "/": () => $("#q")?.focus(), n: () => { unfold(); $("#note")?.focus(); }, "?": () => help.showModal(),
    u: () => { const links = $$("header.top .crumbs a"); const up = $("h1 .title") && links.at(-1) || $("header.top .logo"); up.click(); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const tab = /^[1-9]$/.test(event.key) ? $$("nav.tabs a")[Number(event.key) - 1] : null;
    const act = tab ? () => tab.click() : keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  setInterval(tick, 1000);
  tick();
  commentable();
  connect();
})();

"use strict";
(() => {
  const story = JSON.parse(document.getElementById("story").textContent);
  const detail = document.getElementById("detail");
  const list = document.getElementById("steps");
  const count = story.steps.length;
  const MACHINERY = 2;
  const ranks = {};
  const states = [{}];
  for (const [slot, rank, value] of story.initial) {
    states[0][slot] = value;
    ranks[slot] = rank;
  }
  for (const step of story.steps) {
    const next = { ...states[states.length - 1] };
    for (const change of step.changes) {
      next[change.slot] = change.after;
      ranks[change.slot] = change.rank;
    }
    states.push(next);
  }
  let current = -1;

  function make(tag, text, className) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }

  function pretty(value) {
    return typeof value === "string" ? value : JSON.stringify(value, null, 1);
  }

  function section(title, value) {
    if (value === null || value === undefined) return;
    detail.append(make("h3", title), make("pre", pretty(value)));
  }

  function showChanges(step) {
    detail.append(make("h3", step.changes.length ? "what changed" : "nothing changed"));
    const inside = make("details", undefined, "machinery");
    inside.append(make("summary", "and in caches, queues and workers"));
    for (const change of step.changes) {
      const place = change.rank < MACHINERY ? detail : inside;
      place.append(make("div", change.title, "slot"));
      for (const [sign, path, text] of change.lines) {
        const kind = { "+": "plus", "-": "minus", "~": "change" }[sign];
        place.append(make("div", `${sign} ${path}${path && text ? ": " : ""}${text}`, `line ${kind}`));
      }
    }
    if (inside.children.length > 1) detail.append(inside);
    if (inside.previousSibling && inside.previousSibling.tagName === "H3") {
      inside.firstChild.textContent = "only caches, queues and workers";
    }
  }

  function showState(number) {
    const changed = new Set(number ? story.steps[number - 1].changes.map((each) => each.slot) : []);
    detail.append(make("h3", number ? `the state after step ${number}` : "the initial state"));
    const slots = Object.entries(states[number]).sort(([one], [other]) => ranks[one] - ranks[other]);
    const machinery = make("details", undefined, "machinery");
    machinery.append(make("summary", "caches, queues and workers"));
    for (const [slot, value] of slots) {
      if (value === null || (Array.isArray(value) && !value.length)) continue;
      const part = make("details");
      part.open = ranks[slot] === 1;
      part.append(make("summary", slot, changed.has(slot) ? "changed" : ""), make("pre", pretty(value)));
      (ranks[slot] < MACHINERY ? detail : machinery).append(part);
    }
    if (machinery.children.length > 1) detail.append(machinery);
  }

  function show(number) {
    detail.replaceChildren();
    detail.scrollTop = 0;
    detail.append(make("h2", `${number}. ${story.titles[number]}`), make("p", story.who[number], "who"));
    if (number) {
      const step = story.steps[number - 1];
      if (step.fault) detail.append(make("span", step.fault, "badge"));
      showChanges(step);
      section("request", step.request);
      section("answer", step.response);
      const given = Object.keys(step.arguments).length ? step.arguments : null;
      section(`action ${step.action}`, given);
    }
    showState(number);
  }

  function select(number, moves = true) {
    number = Math.max(0, Math.min(count, number));
    if (number === current) return;
    for (const node of document.querySelectorAll(".picked")) node.classList.remove("picked");
    for (const node of document.querySelectorAll(`svg [data-step="${number}"]`)) node.classList.add("picked");
    for (const item of list.querySelectorAll("li[data-step]")) {
      item.setAttribute("aria-selected", String(Number(item.dataset.step) === number));
    }
    current = number;
    show(number);
    const item = document.getElementById(`step-${number}`);
    list.setAttribute("aria-activedescendant", item.id);
    if (moves) item.scrollIntoView({ block: "nearest", inline: "nearest" });
    history.replaceState(null, "", `#step-${number}`);
  }

  document.getElementById("scroll").addEventListener("click", (event) => {
    const hit = event.target.closest("[data-step]");
    if (hit) select(Number(hit.dataset.step), false);
  });
  const keys = { ArrowDown: 1, ArrowRight: 1, j: 1, ArrowUp: -1, ArrowLeft: -1, k: -1 };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in keys) select(current + keys[event.key]);
    else if (event.key === "Home") select(0);
    else if (event.key === "End") select(count);
    else return;
    event.preventDefault();
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  const asked = /^#step-(\d+)$/.exec(location.hash);
  select(asked ? Number(asked[1]) : count);
  list.focus({ preventScroll: true });
})();

// The list of checks: it is filtered while one types, and all checks are selected at once.

import { show } from "./live.js";

let timer = 0;
let latest = 0;

// filter shows the checks that the form selects. The address keeps the filter, for links and for the way back.
async function filter(form) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  const address = location.pathname + (query.size ? "?" + query : "");
  const mine = ++latest;
  try {
    const answer = await fetch(address);
    const html = await answer.text();
    if (mine !== latest || !answer.ok) return;
    history.replaceState(null, "", address);
    show(html);
  } catch {
    form.submit();
  }
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("#filter");
  if (!form) return;
  clearTimeout(timer);
  timer = setTimeout(() => filter(form), event.target.type === "search" ? 150 : 0);
});

document.addEventListener("submit", (event) => {
  if (event.target.id !== "filter") return;
  event.preventDefault();
  clearTimeout(timer);
  filter(event.target);
});

// "/" goes to the search, as people know it from other lists.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const search = document.querySelector("#filter input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});

// The selection stays when a search shows other checks: those that are not on the page any more are sent by hidden fields.

const selected = new Set();
const hidden = document.createElement("div");
hidden.hidden = true;
document.body.append(hidden);
const boxes = () => [...document.querySelectorAll("#rows input[name=check]")];
const ids = (box) => box.value.split(" "); // the row of a group has several
let last = null; // the value of the box that was ticked last

function reflect() {
  const shown = boxes();
  for (const box of shown) {
    const some = ids(box).filter((id) => selected.has(id)).length;
    box.checked = some === ids(box).length;
    box.indeterminate = some > 0 && !box.checked;
  }
  const here = new Set(shown.filter((box) => box.checked).flatMap(ids));
  const elsewhere = [...selected].filter((id) => !here.has(id));
  hidden.replaceChildren(...elsewhere.map((id) => {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "check", value: id });
    field.setAttribute("form", "bulk");
    return field;
  }));
  count(shown, elsewhere.length);
}

function count(shown, elsewhere) {
  const all = document.getElementById("all");
  if (!all) return;
  const ticked = selected.size - elsewhere;
  all.checked = ticked > 0 && shown.every((box) => box.checked);
  all.indeterminate = ticked > 0 && !all.checked;
  const matches = document.getElementById("allmatches");
  document.getElementById("bulkbar").classList.toggle("on", selected.size > 0 || Boolean(matches?.checked));
  let text = selected.size ? `${selected.size} selected` : "None selected";
  if (elsewhere) text += `, ${elsewhere} not shown`;
  const picked = document.getElementById("picked");
  if (picked.textContent !== text) picked.textContent = text;
}

function tick(box, on) {
  for (const id of ids(box)) {
    if (on) selected.add(id);
    else selected.delete(id);
  }
}

// Shift ticks or unticks everything from the box before.
document.addEventListener("click", (event) => {
  const box = event.target.closest?.("#rows input[name=check]");
  if (!box) return;
  const list = boxes();
  const from = list.findIndex((each) => each.value === last);
  if (event.shiftKey && from >= 0) {
    const to = list.indexOf(box);
    for (const each of list.slice(Math.min(from, to), Math.max(from, to) + 1)) tick(each, box.checked);
  }
  last = box.value;
});

document.addEventListener("change", (event) => {
  if (event.target.id === "all") for (const box of boxes()) tick(box, event.target.checked);
  if (event.target.matches("#rows input[name=check]")) tick(event.target, event.target.checked);
  reflect();
});
document.addEventListener("rollcall:shown", reflect);
for (const box of boxes()) tick(box, box.checked); // a browser that goes back keeps ticks
reflect();

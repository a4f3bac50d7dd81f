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

const boxes = () => [...document.querySelectorAll("#rows input[name=check]")];

function count() {
  const all = document.getElementById("all");
  if (!all) return;
  const ticked = boxes().filter((box) => box.checked).length;
  all.checked = ticked > 0 && ticked === boxes().length;
  all.indeterminate = ticked > 0 && !all.checked;
  document.getElementById("picked").textContent = ticked ? `${ticked} selected` : "None selected";
}

document.addEventListener("change", (event) => {
  if (event.target.id === "all") for (const box of boxes()) box.checked = event.target.checked;
  count();
});
document.addEventListener("rollcall:shown", count);

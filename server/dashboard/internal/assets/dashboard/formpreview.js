// Shows what a form would do while somebody fills it in: what a status page shows, and what maintenance covers and when. The server makes
// the preview, and the answer to the button "Preview" has it without this script. data-watch names the inputs that matter.

const form = document.querySelector("form[data-watch]");
const watched = form.dataset.watch.split(" ");
const pause = 250; // milliseconds between the last key and the request
let last = 0;
let timer;

async function preview() {
  const turn = ++last;
  const data = new URLSearchParams(new FormData(form));
  data.set("preview", "yes");
  const answer = await fetch(form.action, { method: "POST", body: data }).catch(() => null);
  if (!answer?.ok || turn !== last) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("preview");
  if (!fresh || turn !== last) return;
  const shown = document.getElementById("preview");
  shown.classList.toggle("stale", !fresh.hasChildNodes()); // something is not filled in yet
  if (fresh.hasChildNodes()) shown.replaceChildren(...fresh.childNodes);
}

// Choosing a tag or a check chooses to go by tags or checks.
form.addEventListener("change", (event) => {
  const scope = { tag: "scope-tags", check: "scope-checks" }[event.target.name];
  if (scope && event.target.checked) document.getElementById(scope).checked = true;
});
form.addEventListener("input", (event) => {
  if (!watched.includes(event.target.name)) return;
  clearTimeout(timer);
  timer = setTimeout(preview, pause);
});

// A field without a name filters the choices below it. What is ticked stays in sight.
const filter = document.getElementById("filter");
function narrow() {
  const words = filter.value.toLowerCase().split(/\s+/);
  for (const choice of filter.closest("div").querySelectorAll(".choice")) {
    const text = choice.textContent.toLowerCase();
    choice.hidden = !choice.querySelector(":checked") && !words.every((word) => text.includes(word));
  }
}
filter?.addEventListener("input", narrow);
filter?.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });

function enliven() {
  form.querySelector("[name=preview]").hidden = true;
  if (filter) filter.hidden = false;
}
enliven();
document.addEventListener("rollcall:shown", enliven);

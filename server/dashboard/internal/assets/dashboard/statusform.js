// Shows which checks a status page selects, as tags are ticked.

const form = document.getElementById("statusform");
let last = 0;

async function preview() {
  const turn = ++last;
  const data = new URLSearchParams(new FormData(form));
  data.set("preview", "yes");
  const answer = await fetch(form.action, { method: "POST", body: data }).catch(() => null);
  if (!answer?.ok || turn !== last) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("preview");
  if (fresh && turn === last) document.getElementById("preview").replaceChildren(...fresh.childNodes);
}

form.addEventListener("change", (event) => {
  if (event.target.name === "tag") document.getElementById("scope-tags").checked = true;
  if (event.target.name === "tag" || event.target.name === "scope") preview();
});
const hide = () => { form.querySelector("[name=preview]").hidden = true; };
hide();
document.addEventListener("rollcall:shown", hide);

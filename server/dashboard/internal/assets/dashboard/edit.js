// Shows previews of the form of a check while somebody types. The server makes them, by the templates of the page.

const form = document.getElementById("edit");
const say = document.getElementById("say");
const pause = 250; // milliseconds between the last key and the request

const enliven = () => form.classList.add("live");
enliven();
document.addEventListener("rollcall:shown", enliven);

// mark shows what is wrong with an input below it, or with null that nothing is.
function mark(input, problem) {
  const id = `${input.name}-wrong`;
  for (const old of input.closest(".field").querySelectorAll(`#${id}, .preview`)) old.remove();
  input.toggleAttribute("aria-invalid", Boolean(problem));
  input.setAttribute("aria-describedby", `${problem ? id : ""} ${input.name}-hint`.trim());
  if (!problem) return;
  input.setAttribute("aria-invalid", "true");
  problem.querySelector(".wrong").id = id;
  input.after(problem);
}

// A preview is a part of the page with its inputs in data-watch.
class Preview {
  constructor(part) {
    this.part = part;
    this.inputs = part.dataset.watch.split(" ");
    this.said = this.words(part);
    this.input = null; // that has a problem
    this.note = null; // how an input was understood
  }

  // later asks for the preview when the typing rests, and drops the answers to earlier requests.
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), pause);
  }

  async ask() {
    this.request?.abort();
    this.request = new AbortController();
    try {
      const answer = await fetch(form.dataset.preview + this.part.dataset.part, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        signal: this.request.signal,
      });
      if (answer.ok) this.show(await answer.text());
    } catch {
      // A newer request follows, or the server does not answer: the page keeps what it shows.
    }
  }

  // show replaces the last preview. A problem stands at its input, because the preview may be out of sight, and the last preview
  // that was good stays.
  show(text) {
    const shown = new DOMParser().parseFromString(text, "text/html").querySelector(".preview");
    if (!shown) return;
    if (this.input) mark(this.input, null);
    this.input = null;
    this.note?.remove();
    const problem = "problem" in shown.dataset;
    for (const old of this.part.querySelectorAll(":scope > .preview")) {
      if (!problem || "problem" in old.dataset) old.remove();
    }
    this.part.querySelector(":scope > .preview")?.classList.toggle("stale", problem);
    if (problem) mark(this.input = document.getElementById(shown.dataset.problem), shown);
    else this.part.append(shown);
    this.announce(shown);
    // How an input was understood stands at the input too, for the same reason.
    this.note = shown.querySelector("[data-at]");
    if (this.note) document.getElementById(this.note.dataset.at).after(this.note);
  }

  words(within) {
    return [...within.querySelectorAll("[data-say]")].map((each) => each.textContent).join(" ");
  }

  announce(shown) {
    const words = this.words(shown);
    if (words !== this.said) say.textContent = words;
    this.said = words;
  }
}

const previews = [...form.querySelectorAll("[data-part]")].map((part) => new Preview(part));

form.addEventListener("input", (event) => {
  for (const preview of previews) {
    if (preview.inputs.includes(event.target.name)) preview.later();
  }
});

// slugOf makes a slug of a name: letters without accents, digits, and hyphens for the rest.
function slugOf(name) {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9_]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 100).replace(/-+$/, "");
}

// A new check gets the slug of its name until somebody writes another.
const name = document.getElementById("name");
const slug = document.getElementById("slug");
if ("new" in form.dataset) {
  let suggested = slugOf(name.value);
  name.addEventListener("input", () => {
    const next = slugOf(name.value);
    if (slug.value === "" || slug.value === suggested) {
      slug.value = next;
      slug.dispatchEvent(new Event("input", { bubbles: true }));
    }
    suggested = next;
  });
}

// "All" chooses every integration, and shows whether all are chosen.
const all = document.getElementById("all-channels");
if (all) {
  const each = [...form.querySelectorAll("input[name=channels]")];
  const reflect = () => {
    const chosen = each.filter((box) => box.checked).length;
    all.checked = chosen === each.length;
    all.indeterminate = chosen > 0 && chosen < each.length;
  };
  all.addEventListener("input", () => each.forEach((box) => (box.checked = all.checked)));
  each.forEach((box) => box.addEventListener("input", reflect));
  reflect();
}

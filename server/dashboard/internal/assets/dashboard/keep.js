// Keeps what people type: a form with data-keep is saved without leaving the page, so that it stays as it is, with passwords,
// if the server refuses it or does not answer. A form with data-guard is only not left by accident. Without this script the server sends it back; see ui/held.go.

import { patch } from "./patch.js";

const patience = 60000; // milliseconds until a save without an answer has failed
const dirty = new Set();
let sending = false;

// touched reports whether a form of the page has something that is not saved.
export function touched() {
  return [...dirty].some((form) => form.isConnected);
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form && ("keep" in form.dataset || "guard" in form.dataset)) dirty.add(form);
});

addEventListener("beforeunload", (event) => {
  if (touched()) event.preventDefault();
});
// A page from the back button shows what was typed, which is not saved or was saved before.
addEventListener("pageshow", (event) => { if (event.persisted) sending = false; });

// mention says that a check was changed while its form was open: data-keep is its unique key.
export function mention(event) {
  if (!event.kinds.includes("settings")) return;
  for (const form of document.querySelectorAll("form[data-keep]")) {
    const key = form.dataset.keep;
    if (!key || sending || (event.checks && !event.checks.includes(key))) continue;
    say(form, "changed", "notice", "Someone has just changed this check. What you typed stays, and saving shows what differs.");
  }
}

// say shows a line above the buttons of a form, where a bar of buttons that stays in view shows it too; an empty text removes it.
function say(form, name, style, text) {
  let line = form.querySelector(`[data-said=${name}]`);
  if (!text) return line?.remove();
  if (!line) {
    line = document.createElement("p");
    line.dataset.said = name;
    line.className = style;
    line.setAttribute("role", style === "problem" ? "alert" : "status");
    line.tabIndex = -1;
    form.querySelector(".actions").prepend(line);
  }
  line.textContent = text;
  if (style === "problem") see(line);
  return line;
}

// see moves the focus to an element, and the page so that it is in view.
function see(element) {
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "nearest" });
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if ("guard" in form.dataset) dirty.delete(form); // it leaves the page itself
  if (!("keep" in form.dataset) || event.defaultPrevented) return;
  event.preventDefault();
  if (!sending) save(form, event.submitter);
});

async function save(form, submitter) {
  sending = true;
  form.setAttribute("aria-busy", "true");
  say(form, "failed", "problem", "");
  try {
    const answer = await fetch(form.getAttribute("action"), {
      method: "POST",
      headers: { "Rollcall-Form": "1" },
      body: new URLSearchParams(new FormData(form, submitter)),
      signal: AbortSignal.timeout(patience),
    });
    await take(form, answer);
  } catch {
    say(form, "failed", "problem", "Not saved: the server did not answer. What you typed is still here; try again.");
  }
  form.removeAttribute("aria-busy");
  sending = false;
}

// take shows the answer to a form: the next page, the form with what is wrong, or a line that says why nothing was saved.
async function take(form, answer) {
  const to = answer.headers.get("Rollcall-Location");
  if (answer.status === 204 && to) {
    dirty.clear();
    location.assign(to);
    return;
  }
  if (answer.status === 401) {
    const line = say(form, "failed", "problem", "Not saved: your session has ended. What you typed is still here. ");
    if (to) {
      const link = document.createElement("a");
      Object.assign(link, { href: to, target: "_blank", textContent: "Sign in in another tab" });
      line.append(link, ", then try again.");
    }
    return;
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = fresh.querySelector("main");
  if (answer.status < 500 && answer.status !== 429 && main?.querySelector("form[data-keep]")) {
    document.title = fresh.title;
    patch(document.querySelector("main"), main);
    document.dispatchEvent(new CustomEvent("rollcall:shown"));
    const first = document.querySelector("#problems, #result");
    if (first) see(first);
    return;
  }
  const why = (main?.querySelector(".problem") ?? main?.querySelector("p:not([hidden])"))?.textContent ?? "";
  say(form, "failed", "problem", `Not saved. ${why} What you typed is still here; try again.`);
}

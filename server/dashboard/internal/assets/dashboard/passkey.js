// Adds passkeys and signs in with them. A form with data-passkey, "create" or "get", asks the address data-options what the
// browser must do, and sends what came of it in its field "answer".

const done = new WeakSet();

// problem says why the browser has no passkeys here, or returns nothing.
function problem() {
  if (!window.isSecureContext) return "Passkeys need a page with https.";
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) return "This browser is too old for passkeys here. Update it, or use another one.";
  return "";
}

async function ask(form) {
  const answer = await fetch(form.dataset.options, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (!answer.ok) throw new Error(answer.headers.get("Content-Type").startsWith("text/plain") ? await answer.text() : "The server did not answer. Load the page again.");
  const options = await answer.json();
  const found = form.dataset.passkey === "create"
    ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  return JSON.stringify(found.toJSON());
}

// words says what went wrong; browsers do not say whether somebody canceled.
function words(error) {
  switch (error.name) {
    case "NotAllowedError": return "No passkey was used: canceled, too late, or there is none for this site on this device.";
    case "InvalidStateError": return "This device already has one of your passkeys.";
    case "SecurityError": return "The browser refuses passkeys at this address. Open the page at the address of the server.";
    default: return error.message;
  }
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.passkey || done.has(form)) return;
  event.preventDefault();
  const button = event.submitter ?? form.querySelector("button");
  const state = form.querySelector("[role=status]");
  button.disabled = true;
  state.textContent = "Waiting for the browser …";
  try {
    form.elements.answer.value = await ask(form);
    done.add(form);
    button.disabled = false;
    form.requestSubmit(button);
  } catch (error) {
    state.textContent = words(error);
    button.disabled = false;
  }
});

function offer() {
  const reason = problem();
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.querySelector("button").disabled = reason !== "";
    form.querySelector("[role=status]").textContent = reason;
  }
}
offer();
// A page from the back button may sign in again.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

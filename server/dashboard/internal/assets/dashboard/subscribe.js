// Subscribes this browser to alerts by Web Push, and puts the subscription into a field of the form.

const part = document.getElementById("subscribe");
const button = part.querySelector("button");
const state = part.querySelector("[role=status]");
const field = document.getElementById(part.dataset.into);

// problem says why the browser cannot subscribe, or returns nothing.
function problem() {
  if (!window.isSecureContext) return "A browser can only subscribe on a page with https, or on localhost.";
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) {
    return "This browser cannot subscribe here. On an iPhone or iPad, add the page to the Home Screen and open it there. A private window cannot subscribe.";
  }
  if (Notification.permission === "denied") {
    return "This browser blocks notifications of this site. Allow them in its settings, then load the page again.";
  }
  return "";
}

// bytes decodes base64url.
function bytes(text) {
  return Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
}

function same(a, b) {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

async function subscribe() {
  // Safari asks for the permission only in the event of the click, so this comes first.
  if (await Notification.requestPermission() !== "granted") throw new Error("notifications of this site are not allowed");
  await navigator.serviceWorker.register(part.dataset.worker, { scope: part.dataset.scope });
  const registration = await navigator.serviceWorker.ready;
  const key = bytes(part.dataset.key);
  const old = await registration.pushManager.getSubscription();
  if (old?.options.applicationServerKey) {
    // A subscription that was made with the key of another server is of no use.
    if (!same(new Uint8Array(old.options.applicationServerKey), key)) await old.unsubscribe();
  }
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

button.addEventListener("click", async () => {
  button.disabled = true;
  state.textContent = "Waiting for the browser …";
  try {
    field.value = JSON.stringify(await subscribe());
    state.textContent = `This browser is subscribed. Now press “${field.form.querySelector(".primary").textContent}”.`;
  } catch (error) {
    state.textContent = problem() || `The browser did not subscribe: ${error.message}`;
  }
  button.disabled = false;
});

function offer() {
  const reason = problem();
  state.textContent = reason || "The browser will ask whether it may show notifications.";
  button.hidden = reason !== "";
}
offer();
document.addEventListener("rollcall:shown", offer);

// The service worker for Web Push. It shows the alerts that the server sends to this browser, and nothing else: requests
// of pages do not pass through it.

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("push", (event) => {
  let alert = {};
  try {
    alert = event.data.json();
  } catch {
    // A message must show a notification, or the browser ends the subscription.
  }
  // A newer alert about the same check takes the place of the last, and is announced again.
  event.waitUntil(self.registration.showNotification(alert.title || "Rollcall", {
    body: alert.text || "",
    tag: alert.tag || "",
    renotify: Boolean(alert.tag),
    data: { url: alert.url || "" },
  }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.url));
});

// open shows the page of the check in a window that has it open, or in a new one.
async function open(url) {
  const address = /^https?:\/\//.test(url) ? url : self.registration.scope;
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const shown = windows.find((each) => each.url === address);
  return shown ? shown.focus() : self.clients.openWindow(address);
}

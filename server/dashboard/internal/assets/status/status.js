// Shows times in the reader's zone, and keeps the page current. Without it, times are in UTC and the browser reloads.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

function localize() {
  const two = (n) => String(n).padStart(2, "0");
  for (const time of document.querySelectorAll("#page time")) {
    const at = new Date(time.dateTime);
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    let text = `${two(at.getHours())}:${two(at.getMinutes())}`;
    // The days of the list are those of UTC, so a time of another day says which.
    if (time.dataset.hour !== day) text = `${at.getDate()} ${at.toLocaleString("en", { month: "short" })}, ${text}`;
    time.textContent = text;
  }
  const said = document.getElementById("zone");
  if (said && zone && zone !== "UTC") said.textContent = `Times in ${zone.replaceAll("_", " ")}; days in UTC.`;
}

let shown = null; // the tag of the page that is shown

async function refresh() {
  if (document.hidden) return;
  let stale = true;
  try {
    const answer = await fetch(location.pathname, { cache: "no-cache", credentials: "omit" });
    const tag = answer.headers.get("ETag");
    if (answer.status === 404) return location.reload();
    if (answer.ok && (tag === null || tag !== shown)) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.getElementById("page").replaceWith(fresh.getElementById("page"));
      document.getElementById("icon").href = fresh.getElementById("icon").getAttribute("href");
      document.title = fresh.title;
      shown = tag;
      localize();
    }
    stale = !answer.ok;
  } catch {
    // The server cannot be reached.
  }
  document.getElementById("stale").hidden = !stale;
}

localize();
setInterval(refresh, 30000);
document.addEventListener("visibilitychange", refresh);
addEventListener("online", refresh);

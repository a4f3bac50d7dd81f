// Keeps a page current. A stream of events says what has changed; the page is then fetched again, and the elements with
// data-live and an id take over what differs. data-follow on an element says which events concern the page. A page of several
// projects has no stream: with data-poll on an element, it is fetched twice a minute.

import "./menu.js";
import { patch } from "./patch.js";
import { touched, mention } from "./keep.js";

const base = document.body.dataset.base;
const project = document.body.dataset.project;
let version = document.body.dataset.version;

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zoneCookie = document.body.dataset.zoneCookie + "=" + zone;
const zoneKnown = () => document.cookie.split("; ").includes(zoneCookie);
if (zone && !zoneKnown()) {
  document.cookie = `${zoneCookie}; path=${base}/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
  // The first page of a browser is in UTC, because the server did not know better. A zone that the viewer has chosen stays.
  if (!("chosen" in document.body.dataset) && (document.body.dataset.zone ?? zone) !== zone && zoneKnown()) location.reload();
}

// Relative times

const units = [["days", 86400], ["h", 3600], ["min", 60], ["s", 1]];

function roughly(size) {
  const [unit, length] = units.find(([unit, length]) => size >= (unit === "days" ? 2 * length : length)) ?? units.at(-1);
  return `${Math.floor(size / length)} ${unit}`;
}

function relative(seconds) {
  const size = Math.abs(seconds);
  if (size < 1) return "just now";
  const text = roughly(size);
  return seconds > 0 ? `in ${text}` : `${text} ago`;
}

// The server's clock counts, because a viewer's may be wrong.
const ahead = Date.parse(document.body.dataset.now) - performance.timeOrigin - performance.now();
const serverNow = () => performance.timeOrigin + performance.now() + ahead;
const clock = document.body.dataset.clock; // 12 or 24, if the viewer has chosen
const full = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium", timeStyle: "long", timeZone: document.body.dataset.tz, ...(clock && { hour12: clock === "12" }),
});

function showTimes() {
  const now = serverNow();
  for (const time of document.querySelectorAll("time[data-ago], time[data-for]")) {
    const at = Date.parse(time.dateTime);
    const text = "for" in time.dataset ? roughly(Math.max(now - at, 0) / 1000) : relative((at - now) / 1000);
    if (time.textContent !== text) time.textContent = text;
    if (!time.title) time.title = full.format(at);
  }
}
setInterval(showTimes, 1000);
showTimes();

// The title and the icon say how many checks of the project are down, on every page.

let title = document.title.replace(/^\d+ down · /, "");
let counts = null;

function showCounts() {
  if (!counts) return;
  const text = counts.down ? `${counts.down} down · ${title}` : title;
  if (document.title !== text) document.title = text;
  const icon = document.getElementById("icon");
  const href = icon.getAttribute("href").replace(/icon-\w+/, `icon-${counts.down ? "down" : counts.late ? "late" : "up"}`);
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  const badge = document.getElementById("navdown");
  badge.hidden = !counts.down;
  badge.querySelector("span").textContent = counts.down;
}

// show takes over a fetched page.
export function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  title = fresh.title.replace(/^\d+ down · /, "");
  if (project) showCounts();
  else {
    document.title = fresh.title;
    document.getElementById("icon").setAttribute("href", fresh.getElementById("icon").getAttribute("href"));
  }
  version = fresh.body.dataset.version ?? version;
  if (project) document.body.dataset.right = fresh.body.dataset.right;
  for (const element of fresh.querySelectorAll("[data-live][id]")) {
    const old = document.getElementById(element.id);
    if (old) patch(old, element);
  }
  showTimes();
  document.dispatchEvent(new CustomEvent("rollcall:shown"));
}

// Fetching, not more often than what it takes allows

let timer = 0;
let ready = 0; // when the next fetch may begin
let running = false;
const poll = document.querySelector("[data-poll]");
const gone = line("gone", "alert", "");
const offline = line("offline", "status", "Connection lost. Showing last known data; reconnecting…");

// line adds a hidden line at the top of the page. Screen readers announce it once it is shown.
function line(id, role, text) {
  const element = Object.assign(document.createElement("p"), { id, role, className: "offline", textContent: text, hidden: true });
  element.dataset.own = ""; // see patch.js
  document.getElementById("main").prepend(element);
  return element;
}

// The answer to a form, such as the page of a bulk edit, may have an address that nothing is at.
const got = "zone" in document.body.dataset;

export function refresh() {
  if (!got) return;
  if (timer || running) {
    running = running && "again";
    return;
  }
  const pause = document.hidden ? 15000 : 0;
  timer = setTimeout(fetchPage, Math.max(pause, ready - performance.now(), 0));
}

// over reports whether an answer says that the page is gone, or that the viewer may no longer see it. Other refusals pass.
const over = ({ redirected, status }) => redirected || (status >= 400 && status < 500 && ![408, 425, 429].includes(status));

let left = false; // once, although the stream and a refresh may both find out

// leave shows what became of a page that is over, unless it has a form that somebody has touched. The page of an error follows nothing,
// so it is loaded once.
function leave(answer) {
  if (left) return;
  left = true;
  if (got && !touched()) return location.reload();
  gone.hidden = false;
  gone.textContent = answer?.redirected ? "Your session has ended. What you typed is still here: sign in in another tab, then save." :
    "This page is gone, or you may no longer see it. What you typed is still here.";
}

async function fetchPage() {
  timer = 0;
  running = true;
  const begin = performance.now();
  let wait = 0; // milliseconds for which the server asks
  try {
    const rows = document.getElementById("rows")?.dataset.rows; // of a list, which gets only what differs from these
    const answer = await fetch(location.href, { headers: { "Rollcall-Version": version ?? "none", ...(rows && { "Rollcall-Rows": rows }) } });
    if (over(answer)) return leave(answer);
    if (answer.status === 200) show(await answer.text());
    if (!answer.ok) wait = 1000 * (Number(answer.headers.get("Retry-After")) || 30);
    offline.hidden = answer.ok;
  } catch {
    if (poll) offline.hidden = false; // else the stream says so, and when the server is back
  }
  ready = performance.now() + Math.max(1000, wait, 10 * (performance.now() - begin));
  const again = running === "again" || wait > 0;
  running = false;
  if (again) refresh();
}

// The stream

const follows = [...document.querySelectorAll("[data-follow]")].flatMap((e) => e.dataset.follow.split(" "));
const about = {
  checks: (e) => e.kinds.some((k) => k === "log" || k === "status" || k === "settings"),
  deliveries: (e) => e.kinds.some((k) => k === "deliveries" || k === "integrations"),
  integrations: (e) => e.kinds.some((k) => k === "integrations" || k === "deliveries"),
  status: (e) => e.kinds.some((k) => k === "status" || k === "settings" || k === "pages"),
};

function concerns(event) {
  if (event.kinds.includes("status") || event.kinds.includes("project")) return true; // the title counts
  return follows.some((what) => {
    const [kind, id] = what.split(":");
    if (kind === "check") return event.checks === null || event.checks.includes(id);
    return about[kind]?.(event);
  });
}

let stream = null;
let lost = 0;
let refusals = 0; // of the stream, in a row
let leaving = 0;

function connect() {
  stream = new EventSource(`${base}/projects/${project}/events?right=${document.body.dataset.right}`);
  stream.addEventListener("hello", (e) => {
    clearTimeout(lost);
    lost = refusals = 0;
    if (e.data === version || !got) {
      offline.hidden = true;
      return;
    }
    clearTimeout(timer); // of a server that asked to wait
    timer = ready = 0;
    refresh();
  });
  stream.addEventListener("counts", (e) => {
    counts = JSON.parse(e.data);
    showCounts();
  });
  stream.addEventListener("change", (e) => {
    const event = JSON.parse(e.data);
    mention(event);
    if (concerns(event)) refresh();
  });
  stream.addEventListener("gone", () => { // signed out, no longer of this project, or with another role
    stream.close();
    reconnect(true);
  });
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) {
      lost ||= setTimeout(() => { offline.hidden = false; }, 3000);
      return;
    }
    clearTimeout(lost);
    lost = 0;
    setTimeout(reconnect, refusals++ ? 30000 : 3000);
  });
}

// A stream that the server has refused stays closed: the session may have ended, or there are too many. Meanwhile the page is fetched
// now and then.
async function reconnect(gone) {
  try {
    const answer = got && await fetch(location.href, { headers: { "Rollcall-Version": version ?? "" } });
    if (answer ? over(answer) : gone === true) return leave(answer);
    if (gone === true && answer.ok && !touched()) return location.reload();
    if (answer.status === 200) show(await answer.text());
    if (answer) offline.hidden = answer.ok;
  } catch {
    offline.hidden = false;
  }
  connect();
}

// A browser has few connections to a server, so tabs that nobody sees give theirs back, and ask now and then.
document.addEventListener("visibilitychange", () => {
  clearTimeout(leaving);
  if (poll && !document.hidden) refresh();
  if (!project) return;
  if (document.hidden) {
    leaving = setTimeout(() => {
      stream?.close();
      stream = null;
      leaving = setInterval(refresh, 30000);
    }, 20000);
    return;
  }
  clearInterval(leaving);
  if (!stream) connect();
});

if (project) connect();
if (poll) setInterval(() => document.hidden || refresh(), 30000);


// Details of the runs on the board, by pointer and by keyboard, and a board that moves with the clock. The page is complete
// without: each mark has a title, and each lane its facts in words.

import { show } from "./live.js";

const reach = 10; // how far from a mark the pointer may be, in pixels
const tip = document.createElement("div");
tip.className = "tip";
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");

let chosen = null;

function marksOf(lane) {
  return [...lane.querySelectorAll(".line > .m")];
}

// A browser would show the title beside our box, so the text moves to an attribute.
function textOf(mark) {
  const title = mark.querySelector(":scope > title");
  if (title) {
    mark.dataset.text = title.textContent;
    title.remove();
  }
  return mark.dataset.text ?? "";
}

function boxOf(mark) {
  const shape = mark.querySelector(".bar, path, circle, line") ?? mark;
  return shape.getBoundingClientRect();
}

function choose(mark, at) {
  if (chosen === mark) return;
  clear();
  const board = document.getElementById("board");
  if (!mark || !board) return;
  chosen = mark;
  mark.classList.add("chosen");
  tip.textContent = textOf(mark);
  if (tip.parentNode !== board) board.append(tip);
  tip.hidden = false;
  const frame = board.getBoundingClientRect();
  const box = boxOf(mark);
  const middle = Math.min(Math.max(at ?? (box.left + box.right) / 2, box.left), box.right) - frame.left;
  const left = Math.min(Math.max(middle - tip.offsetWidth / 2, 4), frame.width - tip.offsetWidth - 4);
  const below = box.bottom + 8 + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? box.bottom - frame.top + 8 : box.top - frame.top - tip.offsetHeight - 8}px`;
}

function clear() {
  chosen?.classList.remove("chosen");
  chosen = null;
  tip.hidden = true;
}

function nearest(lane, x) {
  let found = null;
  let least = reach;
  for (const mark of marksOf(lane)) {
    const box = boxOf(mark);
    const distance = x < box.left ? box.left - x : x > box.right ? x - box.right : 0;
    // Later marks lie on top.
    if (distance < least || (distance === least && distance === 0)) [found, least] = [mark, distance];
  }
  return found;
}

document.addEventListener("pointermove", (event) => {
  const lane = event.target.closest?.(".lane");
  const box = lane?.querySelector(".line").getBoundingClientRect();
  const over = box && event.clientY >= box.top && event.clientY <= box.bottom && event.clientX >= box.left - reach;
  const mark = over && nearest(lane, event.clientX);
  if (mark) choose(mark, event.clientX);
  else if (event.pointerType === "mouse") clear();
});

// A click beside a thin mark, and Enter on a chosen one, open its run, as a click on it does.
document.addEventListener("click", (event) => {
  const link = chosen?.querySelector("a");
  if (!link || event.target.closest?.(".lane") !== chosen.closest(".lane") || event.target.closest(".line a")) return;
  if (event.button || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.assign(link.href.baseVal);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return clear();
  const lane = document.activeElement?.closest?.(".lane");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!lane || !step || event.altKey || event.ctrlKey || event.metaKey) return;
  const marks = marksOf(lane).sort((a, b) => boxOf(a).left - boxOf(b).left);
  if (!marks.length) return;
  event.preventDefault();
  const at = marks.indexOf(chosen);
  const start = step > 0 ? -1 : marks.length;
  choose(marks[Math.min(Math.max((at < 0 ? start : at) + step, 0), marks.length - 1)]);
});
document.addEventListener("focusout", clear);
document.addEventListener("rollcall:shown", clear);

// The board moves by a pixel in about three minutes. The server answers from what it knows.
const period = new URLSearchParams(location.search).get("span") === "7d" ? 600000 : 120000;
setInterval(async () => {
  if (document.hidden || chosen || new URLSearchParams(location.search).has("at")) return;
  try {
    const answer = await fetch(location.href, { headers: { "Rollcall-Version": "clock" } });
    if (answer.status === 200 && !answer.redirected) show(await answer.text());
  } catch {
    // live.js says when the connection is lost
  }
}, period);

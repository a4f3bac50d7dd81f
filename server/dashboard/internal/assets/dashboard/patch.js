// Taking over what differs. Elements stay where they can, so that focus, selection, ticks and what is typed stay too.

// idOf asks for the attribute, because a form with a field named "id" has that as its property.
const idOf = (node) => node.getAttribute?.("id") ?? "";

export function patch(old, fresh) {
  if (old.isEqualNode(fresh)) return old;
  if (old.nodeName !== fresh.nodeName || idOf(old) !== idOf(fresh)) {
    old.replaceWith(fresh);
    return fresh;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return old;
  }
  if ("patch" in fresh.dataset) return patchRows(old, fresh);
  if (old.dataset.state && old.dataset.state !== fresh.dataset.state) old.classList.add("flash");
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" || name === "class")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !(name === "class" && old.classList.contains("flash"))) old.setAttribute(name, value);
  }
  if (old.classList.contains("flash")) {
    old.className = fresh.className + " flash";
    old.addEventListener("animationend", () => old.classList.remove("flash"), { once: true });
  }
  patchChildren(old, fresh);
  return old;
}

// past skips what a script has put into the page, which no answer has: elements with data-own.
function past(node) {
  while (node?.dataset && "own" in node.dataset) node = node.nextSibling;
  return node;
}

function patchChildren(old, fresh) {
  const named = new Map();
  for (const child of old.children) if (idOf(child)) named.set(idOf(child), child);
  let at = past(old.firstChild);
  for (const child of [...fresh.childNodes]) {
    const id = idOf(child);
    const same = id ? named.get(id) : at;
    if (!same || (!id && idOf(same))) {
      old.insertBefore(child, at);
      continue;
    }
    if (same !== at) old.insertBefore(same, at);
    at = past(patch(same, child).nextSibling);
  }
  while (at) {
    const next = past(at.nextSibling);
    at.remove();
    at = next;
  }
}

// patchRows takes over the rows that differ: data-after names the one before, and data-same says that only the place is new.
function patchRows(old, fresh) {
  const own = (id) => old.querySelector(`:scope > [id="${id}"]`);
  for (const id of fresh.dataset.gone.split(" ")) if (id) own(id)?.remove();
  for (const row of [...fresh.children]) {
    const known = own(idOf(row));
    const { after } = row.dataset;
    delete row.dataset.after;
    const now = known && "same" in row.dataset ? known : known ? patch(known, row) : row;
    if (after === undefined) continue;
    if (after) own(after)?.after(now);
    else old.prepend(now);
  }
  old.dataset.rows = fresh.dataset.rows;
  return old;
}

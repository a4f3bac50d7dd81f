// Copies text to the clipboard: <button type="button" data-copy="ID" hidden>Copy</button> copies the text or the value of
// the element with that id. The button appears only if this script runs.

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Browsers have no clipboard for pages without https.
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "sr";
  document.body.append(field);
  const focused = document.activeElement;
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  focused?.focus();
  if (!done) throw new Error("refused");
}

const said = document.createElement("span");
said.className = "sr";
said.setAttribute("role", "status");
document.body.append(said);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const from = document.getElementById(button.dataset.copy);
  const before = button.dataset.label ??= button.textContent;
  try {
    await copy(from.value ?? from.textContent);
    button.textContent = "Copied";
    said.textContent = "Copied to the clipboard";
  } catch {
    if (from.select) {
      from.select();
    } else {
      getSelection().selectAllChildren(from);
    }
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => { button.textContent = before; said.textContent = ""; }, 2000);
});

// show reveals the buttons of a part of the page that was added later.
export function show(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}
show(document);

// Closes the menus, which are details.menu, as people expect: on Escape, which gives the focus back to the button, on a click outside,
// when the focus leaves, and when another one opens.

const open = () => document.querySelectorAll("details.menu[open]");

// closeBut closes all menus in which a node is not.
function closeBut(node) {
  for (const menu of open()) if (!menu.contains(node)) menu.open = false;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of open()) {
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
});
document.addEventListener("click", (event) => closeBut(event.target));
document.addEventListener("focusin", (event) => closeBut(event.target));

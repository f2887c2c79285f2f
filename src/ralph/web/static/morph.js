// Makes one tree of elements like another, and leaves alone what a person is using.
"use strict";
const Morph = (() => {
  const keyOf = (node) => (node.nodeType === 1 ? node.dataset?.key || node.id || "" : "");

  function attributes(old, fresh) {
    for (const { name } of [...old.attributes])
      if (!fresh.hasAttribute(name) && !(name === "open" && old.tagName === "DETAILS")) old.removeAttribute(name);
    for (const { name, value } of [...fresh.attributes]) {
      if (name === "open" && old.tagName === "DETAILS") continue; // a person opens and closes it
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  function children(old, fresh) {
    const known = new Map();
    for (const node of old.childNodes) if (keyOf(node)) known.set(keyOf(node), node);
    let at = old.firstChild;
    const isMine = (one) => one.nodeType === 1 && one.hasAttribute("data-mine"); // the page's script made it
    for (const wanted of [...fresh.childNodes]) {
      const key = keyOf(wanted);
      while (at && isMine(at)) at = at.nextSibling;
      let found = key ? known.get(key) : null;
      if (!found && at && !keyOf(at) && !key && at.nodeType === wanted.nodeType && at.nodeName === wanted.nodeName) found = at;
      if (found && found.nodeName === wanted.nodeName) {
        known.delete(key);
        if (found === at) at = at.nextSibling;
        else old.insertBefore(found, at);
        node(found, wanted);
      } else {
        const made = document.importNode(wanted, true);
        if (made.nodeType === 1 && made.matches(".card, .events > li")) made.classList.add("fresh");
        old.insertBefore(made, at);
      }
    }
    while (at) {
      const next = at.nextSibling;
      if (!isMine(at) && !(at.nodeType === 1 && at.hasAttribute("data-busy"))) at.remove();
      at = next;
    }
  }

  function node(old, fresh) {
    if (old.nodeType !== 1) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    if (old.hasAttribute("data-keep") || old.hasAttribute("data-busy") || old.isEqualNode(fresh)) return;
    const down = old.tagName === "PRE" && old.scrollHeight - old.scrollTop - old.clientHeight < 8;
    attributes(old, fresh);
    children(old, fresh);
    if (down) old.scrollTop = old.scrollHeight;
  }

  return { node };
})();

({
  // Text whose contrast is below what WCAG AA asks for.
  contrast: () => {
  const parse = (text) => { const m = text.match(/[\d.]+/g).map(Number); return text.startsWith("color(") ? [m[0] * 255, m[1] * 255, m[2] * 255, m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1]; };
  const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3]));
  const ground = (node) => { const layers = []; for (let one = node; one; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]); };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.nodeValue.trim() || !node.checkVisibility({ opacityProperty: true }) || node.closest("dialog, .sr, .skip, svg, option")) continue;
    const style = getComputedStyle(node), back = ground(node), ink = over(parse(style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${node.tagName}.${node.className} ${walk.currentNode.nodeValue.trim().slice(0, 30)}`);
  }
  return [...new Set(found)];
},

  // What a screen reader could not name, and what a page must have once.
  unnamed: () => {
  const name = (node) => node.getAttribute("aria-label") || node.textContent.trim() || node.title || (node.labels && node.labels[0]?.textContent) || node.querySelector?.("img[alt]:not([alt=''])")?.alt;
  const found = [...document.querySelectorAll("a[href], button, input, textarea, select, [role=img]")].filter((node) => !name(node)).map((node) => node.outerHTML.slice(0, 80));
  if (document.querySelectorAll("main").length !== 1) found.push("not one main");
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  if (!document.documentElement.lang || !document.title) found.push("no language or title");
  found.push(...[...document.querySelectorAll("img:not([alt])")].map((node) => node.src));
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  return found.concat(ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `twice: ${id}`));
},

  // What a finger could not hit.
  small: () => [...document.querySelectorAll("button:not(.comment), nav.tabs a, select, input")].filter((node) => {
  const box = node.getBoundingClientRect(); return node.checkVisibility() && box.width && (box.height < 24 || box.width < 24);
}).map((node) => node.outerHTML.slice(0, 80)),
})

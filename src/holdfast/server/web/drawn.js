// A drawing that is made anew when its width changes, so that its texts keep their size on every screen.

import { h } from "./dom.js";

const GUESS = 600; // until the browser has told the width

/** A box of `height` with what `draw(width)` returns. */
export function drawn(height, draw) {
  const box = h("div", { class: "drawn" });
  box.style.blockSize = `${height}px`;
  let width = 0;
  const fit = () => {
    const now = Math.round(box.clientWidth) || width || GUESS;
    if (now === width) return;
    width = now;
    const held = box.contains(document.activeElement) && document.activeElement.dataset.id;
    box.replaceChildren(draw(width));
    if (held) box.querySelector(`[data-id="${CSS.escape(held)}"]`)?.focus();
  };
  new ResizeObserver(fit).observe(box);
  return box;
}

// What one part of the page did, told to the others.

const bus = new EventTarget();

/**
 * Something was changed: `ids` of memories that may look different now, `gone` of those that are there no more;
 * `replaced` maps the id of one to that of the memory in its place.
 */
export function changed({ ids = [], gone = [], replaced = {} }) {
  bus.dispatchEvent(new CustomEvent("changed", { detail: { ids, gone, replaced } }));
}

/** Calls `listener` after each change until the returned function is called. */
export function onChange(listener) {
  const heard = (event) => listener(event.detail);
  bus.addEventListener("changed", heard);
  return () => bus.removeEventListener("changed", heard);
}

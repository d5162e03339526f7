// The address says what is shown: `#/facts/fact_01…?q=lisbon` is a view, a memory that is open, and what narrows it.

const DEFAULT = "home";

export function route() {
  const [path, query = ""] = (location.hash.startsWith("#/") ? location.hash.slice(2) : "").split("?");
  const [view = "", id = ""] = path.split("/");
  const asked = Object.fromEntries(new URLSearchParams(query));
  // A search without a view is a search in everything.
  return { view: view || (asked.q ? "everything" : DEFAULT), id: decodeURIComponent(id), query: asked };
}

export function href({ view = DEFAULT, id = "", query = {} }) {
  const wanted = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  const path = id ? `${view}/${encodeURIComponent(id)}` : view === DEFAULT ? "" : view;
  return `#/${path}${wanted.size ? `?${wanted}` : ""}`;
}

/** Goes there. With `replace`, without a step for the back button: for what changes with every key. */
export function go(target, { replace = false } = {}) {
  const address = href(target);
  if (address === (location.hash || "#/")) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

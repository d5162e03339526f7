// Single-key shortcuts, which people can turn off.

const SETTING = "holdfast.keys";

export const singleKeys = {
  get on() {
    return localStorage.getItem(SETTING) !== "off";
  },
  set: (on) => localStorage.setItem(SETTING, on ? "on" : "off"),
};

/** Whether a key was pressed alone, and may be a shortcut. */
export const isSingle = (event) => !event.ctrlKey && !event.metaKey && !event.altKey && singleKeys.on;

const MOVES = { j: "ArrowDown", k: "ArrowUp" };

/** The key of a move in a list: `j` and `k` are arrows. */
export const moveOf = (event) => (isSingle(event) && MOVES[event.key]) || event.key;

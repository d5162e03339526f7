// Modal dialogs. Native elements: the browser traps the focus and restores it afterwards.

import { button, h } from "./dom.js";

const DRAFTS = "holdfast.draft.";

/** Opens a dialog; resolves to what `close(value)` was given, or null when Escape dismissed it. */
export function opened(title, build) {
  return new Promise((resolve) => {
    let answer = null;
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" });
    const close = (value) => {
      answer = value;
      dialog.close();
    };
    dialog.append(h("h2", { id: "dialog-title" }, title), ...build(close));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
  });
}

const buttons = (...children) => h("div", { class: "dialog-buttons" }, ...children);

/** A form whose `save(values, all)` may fail: the input then stays, with the error below it. */
export function form(close, { fields, submit, save, look = "primary" }) {
  const problem = h("p", { class: "field-problem", role: "alert" });
  const send = h("button", { class: `button ${look}` }, submit);
  const element = h("form", { method: "dialog" }, ...fields, problem, buttons(button("Cancel", () => close(false)), send));
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    problem.textContent = "";
    try {
      const values = new FormData(element);
      close(await save(Object.fromEntries(values), values));
    } catch (error) {
      problem.textContent = error.message;
      send.disabled = false;
    }
  });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
  });
  return element;
}

/** A text field whose draft survives a closed dialog, a lost connection and a reload. */
function keptText(name, draft, { label, text = "", rows = 4, hint, required = true }) {
  const key = DRAFTS + draft;
  const area = h("textarea", { name, id: `field-${name}`, rows, required, autofocus: true, value: sessionStorage.getItem(key) ?? text });
  area.addEventListener("input", () => sessionStorage.setItem(key, area.value));
  return h("div", { class: "field" }, h("label", { for: area.id }, label), area, hint && h("p", { class: "quietly" }, hint));
}

const forgetDraft = (draft) => sessionStorage.removeItem(DRAFTS + draft);

export const line = (name, label, value = "") =>
  h("div", { class: "field" }, h("label", { for: `field-${name}` }, label), h("input", { name, id: `field-${name}`, autocomplete: "off", value }));

export const choice = (name, value, label, hint, checked) =>
  h("label", { class: "choice" }, h("input", { type: "radio", name, value, checked }), h("span", {}, h("strong", {}, label), h("span", { class: "quietly" }, hint)));

/** Asks for a new text; `save(content, reason)` stores it. */
export async function askForWords({ title, memory, submit, withReason = false, save }) {
  const draft = `${submit}.${memory.id}`;
  const saved = await opened(title, (close) => [
    form(close, {
      submit,
      fields: [
        keptText("content", draft, { label: "New text", text: memory.content }),
        withReason && line("reason", "Reason (optional)"),
        h("p", { class: "quietly" }, "The old text stays in the history, so you can undo this."),
      ].filter(Boolean),
      save: ({ content, reason }) => save(content.trim(), reason?.trim()),
    }),
  ]);
  if (saved !== null) forgetDraft(draft); // Escape may have been an accident
  return saved;
}

/** Asks what to remember; `save({content, kind})` stores it. */
export async function askForMemory(save) {
  const saved = await opened("Remember something", (close) => [
    form(close, {
      submit: "Remember",
      fields: [
        keptText("content", "new", { label: "What should be remembered?", rows: 3 }),
        h("fieldset", { class: "choices" }, h("legend", {}, "Type"),
          choice("kind", "fact", "A fact", "A true statement, such as “Tomasz cannot have peanuts”.", true),
          choice("kind", "rule", "A rule", "An instruction for assistants, such as “Keep answers short”.")),
      ],
      save: ({ content, kind }) => save({ content: content.trim(), kind }),
    }),
  ]);
  if (saved !== null) forgetDraft("new");
  return saved;
}

/** Asks which of `memories` to forget; resolves to those, or to something false. */
export function askWhichToForget(memories) {
  return opened("Forget these?", (close) => {
    const rows = memories.map((memory) =>
      h("li", {}, h("label", { class: "tick" }, h("input", { type: "checkbox", name: memory.id, checked: true }), h("span", {}, memory.content))));
    const send = h("button", { class: "button danger", autofocus: true });
    const element = h("form", { method: "dialog" },
      h("p", {}, "Untick what you want to keep. Forgotten memories are no longer used; you can restore them under “Recent changes”."),
      h("ul", { class: "ticks", role: "list" }, ...rows),
      buttons(button("Keep all", () => close(false)), send));
    const ticked = () => memories.filter((memory) => element.elements[memory.id].checked);
    const count = () => {
      send.textContent = `Forget ${ticked().length} of ${memories.length}`;
      send.disabled = ticked().length === 0;
    };
    element.addEventListener("change", count);
    element.addEventListener("submit", (event) => (event.preventDefault(), close(ticked())));
    queueMicrotask(count);
    return [element];
  });
}

/** Asks for the key of a locked memory; resolves to it, or to something false. */
export function askForKey(problem) {
  return opened("This memory is locked", (close) => {
    const element = form(close, {
      submit: "Open",
      fields: [
        h("p", {}, "Enter your key. The page keeps it until this tab is closed."),
        problem && h("p", { class: "field-problem", role: "alert" }, problem),
        h("div", { class: "field" }, h("label", { for: "field-key" }, "Key"),
          h("input", { name: "key", id: "field-key", type: "password", required: true, autocomplete: "off", autofocus: true })),
      ].filter(Boolean),
      save: async ({ key }) => key.trim(),
    });
    return [element];
  });
}

/** Keys and what they do. `shortcuts` is a switch: `{on, set}`. */
export function showHelp(keys, shortcuts) {
  return opened("Help and keyboard shortcuts", (close) => [
    h("dl", { class: "keys" }, ...keys.flatMap(([names, meaning]) => [
      h("dt", {}, ...names.flatMap((name, index) => [index > 0 && " ", h("kbd", {}, name)])),
      h("dd", {}, meaning),
    ])),
    h("label", { class: "switch" },
      h("input", { type: "checkbox", role: "switch", checked: shortcuts.on, onchange: (event) => shortcuts.set(event.target.checked) }),
      h("span", {}, "Use single-key shortcuts")),
    h("h3", {}, "Forgetting"),
    h("p", {}, "Forgotten memories are no longer used or shown; you can restore them under “Recent changes”. To erase a memory permanently, use ",
      h("code", {}, "holdfast purge"), " in a terminal, or ask the operator of this server."),
    buttons(button("Close", () => close(null), { look: "primary", autofocus: true })),
  ]);
}

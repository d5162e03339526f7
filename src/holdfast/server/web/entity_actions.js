// Corrections of people and places: rename, merge and split, each with an undo.

import * as api from "./api.js";
import { changed } from "./bus.js";
import { choice, form, line, opened } from "./dialogs.js";
import { h } from "./dom.js";
import { failed, offerUndo } from "./toast.js";
import { plural, TYPE_NAMES, typeWords } from "./words.js";

const OFFERED = 8;

/** Tells the page about a change and offers to take it back; resolves to the changed entity. */
function done(saved, told) {
  if (!saved) return null;
  changed({});
  offerUndo(told, [saved.run], {});
  return saved;
}

/** Asks for another name or type. */
export async function rename(entity) {
  const types = [...new Set([entity.type, ...TYPE_NAMES])];
  const saved = await opened(`Rename ${entity.name}`, (close) => [form(close, {
    submit: "Rename",
    fields: [
      line("name", "Name", entity.name),
      h("div", { class: "field" }, h("label", { for: "field-type" }, "Type"), h("select", { name: "type", id: "field-type" },
        ...types.map((type) => h("option", { value: type, selected: type === entity.type }, typeWords(type).one)))),
      h("p", { class: "quietly" }, "The old name stays as another name, so that it is still recognised."),
    ],
    save: ({ name, type }) => api.renameEntity(entity.id, name.trim() || entity.name, type === entity.type ? undefined : type),
  })]);
  return done(saved, saved && `Renamed to ${saved.name}.`);
}

/** Merges `other` into `entity` without asking: what a suggestion offers. */
export async function mergeThese(entity, other) {
  try {
    return done(await api.mergeEntities(entity.id, [other.id]), `${other.name} is now ${entity.name}.`);
  } catch (error) {
    failed(error, () => mergeThese(entity, other));
    return null;
  }
}

/** Asks who else is this entity. */
export async function merge(entity) {
  const all = await api.entities({ limit: 500 }).catch((error) => failed(error, () => merge(entity)));
  if (!all) return null;
  const known = all.filter((one) => one.id !== entity.id);
  const saved = await opened(`Who else is ${entity.name}?`, (close) => [form(close, {
    submit: "Merge",
    fields: [picker(known, entity), h("p", { class: "quietly" }, `Their names and mentions go to ${entity.name}. You can undo this.`)],
    save: ({ other }) => {
      if (!other) throw new Error("Choose who is the same.");
      return api.mergeEntities(entity.id, [other]);
    },
  })]);
  return done(saved, saved && `Merged into ${saved.name}.`);
}

/** A field that narrows a list of names, and the list to choose from. */
function picker(known, entity) {
  const rank = (one) => (one.type === entity.type ? 0 : 1);
  const offers = h("fieldset", { class: "choices offers" }, h("legend", { class: "unseen" }, "Same as"));
  const show = (typed) => {
    const found = known.filter((one) => [one.name, ...one.aliases].some((name) => name.toLowerCase().includes(typed)));
    const best = found.sort((one, other) => rank(one) - rank(other) || other.mentions - one.mentions).slice(0, OFFERED);
    offers.replaceChildren(offers.firstElementChild,
      ...best.map((one) => choice("other", one.id, one.name, `${typeWords(one.type).one} · ${plural(one.mentions, "mention")}`)),
      best.length === 0 ? h("p", { class: "quietly" }, "Nobody by that name.") : "");
  };
  const find = line("find", "Name");
  find.querySelector("input").setAttribute("autofocus", "");
  find.addEventListener("input", (event) => show(event.target.value.trim().toLowerCase()));
  show("");
  return h("div", { class: "picker" }, find, offers);
}

/** Asks which names belong to somebody else; resolves to the new entity. */
export async function split(entity) {
  const names = entity.aliases.filter((name) => name !== entity.name);
  const saved = await opened(`Split ${entity.name}`, (close) => [form(close, {
    submit: "Split off",
    fields: [
      h("p", {}, "Tick the names that belong to somebody else. The memories that use them go along."),
      h("ul", { class: "ticks", role: "list" }, ...names.map((name) => h("li", {}, h("label", { class: "tick" }, h("input", { type: "checkbox", name: "names", value: name }), h("span", {}, name))))),
    ],
    save: (_, all) => {
      const chosen = all.getAll("names");
      if (chosen.length === 0) throw new Error("Tick at least one name.");
      return api.splitEntity(entity.id, chosen);
    },
  })]);
  return done(saved, saved && `${saved.name} is now somebody else than ${entity.name}.`);
}

// "What was known on …": a slider over the days since the first memory.

import * as api from "./api.js";
import { afterQuiet, button, h } from "./dom.js";
import { failed } from "./toast.js";
import { day } from "./words.js";

const DAY = 86_400_000;
const PAUSE = 200; // milliseconds without a move before the list follows
const today = () => Math.floor((Date.now() - new Date().getTimezoneOffset() * 60_000) / DAY);
const dateOf = (number) => new Date(number * DAY).toISOString().slice(0, 10);
const numberOf = (date) => Math.floor(Date.parse(`${date}T00:00:00Z`) / DAY);

/** The end of a day such as "2026-03-18", here, as the API wants it; undefined without one. */
export function endOfDay(date) {
  const moment = date && new Date(`${date}T23:59:59.999`);
  return moment && !Number.isNaN(moment.getTime()) ? moment.toISOString() : undefined;
}

/** A button that opens the slider; `choose(date)` is called with a date, or with "" for now. */
export class AsOf {
  constructor(choose) {
    this.choose = choose;
    this.slider = h("input", { type: "range", id: "as-of", min: today() - 1, max: today(), value: today(), step: 1 });
    this.told = h("output", { for: "as-of" });
    this.panel = h("div", { class: "as-of", hidden: true }, h("label", { for: "as-of" }, "What was known on"), this.told, this.slider,
      button("Back to now", () => this.#leave(), { look: "quiet small" }));
    this.opener = h("button", { type: "button", class: "pill", "aria-expanded": "false", onclick: () => (this.panel.hidden ? this.#open() : this.#leave()) }, "Go back in time");
    const follow = afterQuiet(PAUSE, () => this.choose(this.#chosen()));
    this.slider.addEventListener("input", () => (this.#tell(), follow()));
  }

  /** Shows the day that the address names. */
  update(date) {
    this.date = endOfDay(date) ? date : "";
    if (this.date && this.panel.hidden) this.#open();
    else this.#place();
  }

  #chosen() {
    const number = Number(this.slider.value);
    return number >= today() ? "" : dateOf(number);
  }

  #place() {
    this.slider.value = this.date ? numberOf(this.date) : today();
    this.opener.classList.toggle("narrowing", Boolean(this.date));
    this.#tell();
  }

  #tell() {
    const chosen = this.#chosen();
    this.told.textContent = chosen ? day(`${chosen}T12:00:00`) : "today";
    this.slider.setAttribute("aria-valuetext", this.told.textContent);
  }

  async #open() {
    this.#show(true);
    try {
      const { oldest } = await api.totals();
      this.slider.min = Math.min(oldest ? numberOf(oldest.slice(0, 10)) : today(), today() - 1);
      this.#place();
    } catch (error) {
      failed(error);
    }
  }

  #leave() {
    this.#show(false);
    this.opener.focus();
    this.choose("");
  }

  #show(open) {
    this.panel.hidden = !open;
    this.opener.setAttribute("aria-expanded", String(open));
  }
}

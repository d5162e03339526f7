// The timeline of everything, by when it happened or was learned.

import * as api from "../api.js";
import { h } from "../dom.js";
import { Moments } from "../moments.js";

const MOST_PEOPLE = 100;

export function mountTimeline(main) {
  const place = h("div", { class: "when-loading" });
  main.replaceChildren(
    h("div", { class: "heading" }, h("h1", {}, "Timeline"), h("p", {}, "Newest first. Choose a bar to look closer, at a year, a month or a day.")), place);
  let [moments, asked, gone] = [null, null, false];
  const start = async () => {
    const people = await api.entities({ limit: MOST_PEOPLE }).catch(() => []);
    if (gone) return;
    moments = new Moments("timeline", { people: people.filter((one) => one.mentions > 0) });
    place.replaceWith(moments.element);
    moments.update(asked);
  };
  start();
  return {
    update(route) {
      asked = route;
      moments?.update(route);
    },
    dispose() {
      gone = true;
      moments?.dispose();
    },
    focusFirst: () => moments?.focusFirst(),
  };
}

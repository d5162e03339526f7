import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Holdfast, HoldfastError } from "../index.js";
import { serve } from "./serve.js";

let server;
let memory;

before(async () => {
  server = await serve();
  memory = new Holdfast({ url: server.url, userId: "ann" });
});
after(() => server.stop());

test("what is remembered is recalled, corrected and forgotten, and undo brings it back", async () => {
  const tea = await memory.remember({ content: "Prefers green tea to coffee", tags: ["drinks"] });
  assert.equal(tea.kind, "fact");
  const found = await memory.recall({ question: "green tea or coffee?" });
  assert.deepEqual(found.items.map((item) => item.content), ["Prefers green tea to coffee"]);
  const black = await memory.correct(tea.id, { content: "Prefers black tea to coffee" });
  assert.equal((await memory.show(tea.id)).status, "superseded");
  const gone = await memory.forget(black.id);
  assert.deepEqual(await memory.listFacts(), []);
  await memory.undo({ run: gone.run });
  assert.equal((await memory.listFacts()).length, 1);
});

test("fetch is called as a function, as browsers want it", async () => {
  const receivers = [];
  const strict = function (...request) {
    receivers.push(this);
    return globalThis.fetch(...request);
  };
  await new Holdfast({ url: server.url, fetch: strict }).listFacts();
  assert.deepEqual(receivers, [undefined]);
});

test("lists are filtered by repeated parameters", async () => {
  await memory.remember({ content: "Always answer in metric units", kind: "rule" });
  const page = await memory.listMemories({ kind: ["rule", "skill"], limit: 5 });
  assert.deepEqual([...new Set(page.items.map((item) => item.kind))], ["rule"]);
});

test("a conversation is captured and becomes context", async () => {
  const session = "chat 1, früh?";
  await memory.capture({ session, role: "user", text: "I moved to Lisbon last week." });
  assert.equal((await memory.endSession(session)).ended, true);
  const known = await memory.context({ prompt: "Where did I move last week?", session: "chat-2" });
  assert.match(known.turn, /Lisbon/);
});

test("owners do not see each other", async () => {
  const bob = new Holdfast({ url: server.url, userId: "bob" });
  assert.deepEqual(await bob.listFacts(), []);
  const other = await memory.listFacts({ user_id: "bob" });
  assert.deepEqual(other, []);
});

test("an export is text, one JSON object per line", async () => {
  const lines = (await memory.export()).trim().split("\n");
  assert.ok(lines.length > 1 && lines.every((line) => typeof JSON.parse(line) === "object"));
});

test("an error says what went wrong and what to do", async () => {
  const failed = await memory.show("fact_none").catch((error) => error);
  assert.ok(failed instanceof HoldfastError);
  assert.equal(failed.status, 404);
  assert.match(failed.message, /fact_none/);
  assert.ok(failed.problem.request_id);
  await assert.rejects(memory.remember({ content: "" }), { status: 422 });
});

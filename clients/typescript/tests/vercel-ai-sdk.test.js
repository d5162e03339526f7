import assert from "node:assert/strict";
import { test } from "node:test";

import { Holdfast } from "../index.js";
import { serve } from "./serve.js";

const sdk = await import("ai/test").catch(() => null);

const usage = {
  inputTokens: { total: 1 },
  outputTokens: { total: 1 },
  totalTokens: 2,
};

test("an agent of the AI SDK remembers", { skip: !sdk && "the package `ai` is not installed" }, async () => {
  const { reply } = await import("../examples/vercel-ai-sdk.js");
  const Model = sdk.MockLanguageModelV4 ?? sdk.MockLanguageModelV3 ?? sdk.MockLanguageModelV2;
  const asked = [];
  const call = { type: "tool-call", toolCallId: "1", toolName: "remember" };
  const answers = [
    { finishReason: "tool-calls", content: [{ ...call, input: '{"content":"Ann lives in Lisbon"}' }] },
    { finishReason: "stop", content: [{ type: "text", text: "Noted." }] },
    { finishReason: "stop", content: [{ type: "text", text: "In Lisbon." }] },
  ];
  const model = new Model({
    doGenerate: async ({ prompt }) => {
      asked.push(prompt);
      const { finishReason, content } = answers.shift();
      const reason = Model === sdk.MockLanguageModelV2 ? finishReason : { unified: finishReason };
      return { content, finishReason: reason, usage, warnings: [] };
    },
  });
  const server = await serve();
  try {
    const memory = new Holdfast({ url: server.url, userId: "ann" });
    assert.equal(await reply({ model, memory, session: "1", prompt: "I live in Lisbon." }), "Noted.");
    await memory.endSession("1");
    const answer = await reply({ model, memory, session: "2", prompt: "Where does Ann live?" });
    assert.equal(answer, "In Lisbon.");
    assert.match(JSON.stringify(asked.at(-1)[0]), /Ann lives in Lisbon/);
  } finally {
    await server.stop();
  }
});

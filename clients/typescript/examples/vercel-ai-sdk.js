// Memory for an agent of the Vercel AI SDK: what is known goes before the model, the conversation is
// captured, and the model may store something itself.
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

/** Answers a prompt of a session with any model of the AI SDK; `memory` is a client of Holdfast. */
export async function reply({ model, memory, session, prompt }) {
  const known = await memory.context({ prompt, session });
  await memory.capture({ session, role: "user", text: prompt });
  const { text } = await generateText({
    model,
    system: ["You are a helpful assistant.", known.stable, known.turn].filter(Boolean).join("\n\n"),
    prompt,
    tools: {
      remember: tool({
        description: "Store one thing about the person that later conversations should know.",
        inputSchema: z.object({ content: z.string().describe("One statement that stands alone.") }),
        execute: async ({ content }) => (await memory.remember({ content })).id,
      }),
    },
    stopWhen: stepCountIs(5),
  });
  await memory.capture({ session, role: "assistant", text });
  return text;
}

// Memories as Markdown, to paste elsewhere.

import { day, kindWord, statusWord } from "./words.js";

// Characters that would be markup; what a memory says stays text.
const escaped = (text) => text.replace(/([\\`*_[\]<>#|~])/g, "\\$1");
const line = (text) => escaped(text.replace(/\s+/g, " ").trim());

/** One list item per memory: its text, then kind, date and state. */
export function asMarkdown(memories) {
  return `${memories.map(item).join("\n")}\n`;
}

function item(memory) {
  const facts = [kindWord(memory).toLowerCase(), day(memory.event_time ?? memory.created_at), memory.protected && "confirmed",
    memory.status !== "active" && statusWord(memory.status).toLowerCase()].filter(Boolean);
  const title = memory.title ? `**${line(memory.title)}** ` : "";
  return `- ${title}${line(memory.content)} *(${facts.join(", ")})*`;
}

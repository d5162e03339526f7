import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Starts a real `holdfast serve` on a free port, with a store of its own; HOLDFAST names the program. */
export async function serve(...options) {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-"));
  const words = ["serve", "--port", "0", "--store", join(folder, "memory.db"), ...options];
  const server = spawn(process.env.HOLDFAST ?? "holdfast", words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOLDFAST_EMBEDDING_MODELS: "none" },
  });
  const lines = createInterface({ input: server.stderr });
  const url = await new Promise((resolve, reject) => {
    const said = [];
    server.on("error", reject);
    server.on("exit", () => reject(new Error(`holdfast serve did not start: ${said.join("\n")}`)));
    lines.on("line", (line) => {
      said.push(line);
      const found = /http:\/\/\S+/.exec(line);
      if (found) resolve(found[0]);
    });
  });
  server.removeAllListeners("exit");
  const stop = async () => {
    const ended = new Promise((resolve) => server.on("exit", resolve));
    server.kill();
    await ended;
    lines.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { url, stop };
}

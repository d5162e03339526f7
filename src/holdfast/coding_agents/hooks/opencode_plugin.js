// Holdfast: memory for this agent, by `holdfast hook run EVENT`. `holdfast hook uninstall opencode` deletes this file.
// Nothing here may stop opencode: without Holdfast, or when it is late, a message goes out as it is.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

const PROGRAM = /*PROGRAM*/
const OPTIONS = /*OPTIONS*/
// Milliseconds: Holdfast answers within two seconds, or not at all.
const TIMEOUT = /*TIMEOUT*/

// What Holdfast has to say to an event; empty if that is nothing.
function hook(event, said) {
  return new Promise((resolve) => {
    const [command, ...words] = PROGRAM
    const args = [...words, "hook", "run", event, ...OPTIONS]
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    // Node's own timeout goes on when a program could not be started, and keeps the agent from ending.
    const timer = setTimeout(() => child.kill(), TIMEOUT)
    let out = ""
    child.stdout.on("data", (chunk) => (out += chunk))
    child.on("error", () => {
      clearTimeout(timer)
      resolve("")
    })
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(out).hookSpecificOutput?.additionalContext ?? "")
      } catch {
        resolve("")
      }
    })
    // It may be gone before it has heard everything.
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(said))
  })
}

// Where opencode keeps its sessions; empty if they are not kept.
function database() {
  const folder = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
  const name = process.env.OPENCODE_DB || "opencode.db"
  const file = isAbsolute(name) ? name : join(folder, name)
  return existsSync(file) ? file : ""
}

export const Holdfast = async ({ directory }) => {
  // Sessions that somebody talked in, those that know what stands in the project, and those of sub-agents.
  const talked = new Set()
  const started = new Set()
  const inner = new Set()
  const call = (event, session, more) =>
    hook(event, { session_id: session, cwd: directory, transcript_path: database(), ...more })

  return {
    event: async ({ event }) => {
      const { info, sessionID } = event.properties ?? {}
      if (event.type === "session.created" && info?.parentID) inner.add(info.id)
      if (event.type === "session.compacted" && started.delete(sessionID)) await call("PreCompact", sessionID)
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const own = parts.filter((part) => part.type === "text" && !part.synthetic)
      if (inner.has(sessionID) || !own.length) return
      const first = !started.has(sessionID)
      started.add(sessionID)
      talked.add(sessionID)
      const prompt = own.map((part) => part.text).join("\n")
      const told = await Promise.all([
        first ? call("SessionStart", sessionID, { source: "startup" }) : "",
        call("UserPromptSubmit", sessionID, { prompt }),
      ])
      const text = told.filter(Boolean).join("\n\n")
      // Parts are ordered by their ids: this one comes last.
      const id = `${parts.at(-1).id}holdfast`
      if (text) parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },
    dispose: async () => {
      await Promise.all([...talked].map((session) => call("SessionEnd", session)))
    },
  }
}

// Asks Headgate's gate before each tool call of OpenCode, of its subagents too (checked with 1.18.33).
//
// The configuration that names this plugin denies every tool; the plugin takes that back once it is loaded. So where it is
// not loaded, or fails while it loads, no tool is offered to the model. It runs inside the agent's process: there is no
// program to kill, and whatever goes wrong on the way to the gate is thrown, which is a denial with its reason.
import net from "node:net"

const gate = process.env.HEADGATE_GATE

const ask = (request) =>
  new Promise((resolve, reject) => {
    const socket = net.connect({ path: gate })
    let text = ""
    socket.setEncoding("utf8")
    socket.on("connect", () => socket.write(JSON.stringify(request) + "\n"))
    socket.on("data", (data) => (text += data))
    socket.on("error", (error) => reject(new Error(`denied: the gate cannot be asked (${error.message})`)))
    socket.on("close", () => {
      try {
        resolve(JSON.parse(text))
      } catch {
        reject(new Error("denied: the gate closed the connection without an answer"))
      }
    })
  })

export const Headgate = async ({ client, directory }) => {
  const sessions = new Map()

  const session = async (id) => {
    if (!sessions.has(id)) {
      const answer = await client.session.get({ path: { id } })
      if (!answer.data) throw new Error("denied: OpenCode does not know the session of this call")
      sessions.set(id, answer.data)
    }
    return sessions.get(id)
  }

  // A subagent works in a session of its own, below the one that called it.
  const subagent = async (id) => {
    const { parentID, agent } = await session(id)
    if (!parentID) return undefined
    const parent = await subagent(parentID)
    return { id, type: agent ?? "", depth: (parent?.depth ?? 0) + 1 }
  }

  // What `run --format json` leaves out: tries again, and what subagents used. On the same stream as its own lines.
  const tell = (line) => process.stdout.write(JSON.stringify(line) + "\n")
  const told = async ({ type, properties }) => {
    if (process.env.HEADGATE_INTERACTIVE) return
    if (type === "session.status" && properties.status?.type === "retry")
      tell({ type: "headgate_retry", sessionID: properties.sessionID, status: properties.status })
    const part = type === "message.part.updated" ? properties.part : undefined
    if (part?.type === "step-finish" && (await session(part.sessionID)).parentID)
      tell({ type: "step_finish", sessionID: part.sessionID, part })
  }

  return {
    event: ({ event }) => told(event).catch(() => undefined),
    config: async (config) => {
      const answer = await ask({ v: 1, hello: true })
      if (answer.decision !== "allow") return
      config.permission = { "*": "allow", question: process.env.HEADGATE_INTERACTIVE ? "allow" : "deny" }
    },
    "tool.execute.before": async (call, output) => {
      const answer = await ask({
        v: 1,
        source: "hook",
        agent: "opencode",
        tool: call.tool,
        args: output.args ?? {},
        cwd: directory,
        call_id: call.callID,
        session: call.sessionID,
        subagent: await subagent(call.sessionID),
      })
      if (answer.v === 1 && answer.decision === "allow") return
      throw new Error(answer.reason || `denied by the gate without words (call ${answer.call ?? "unknown"})`)
    },
  }
}

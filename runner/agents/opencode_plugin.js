// Asks Headgate's gate before each tool call of OpenCode, of its subagents too (checked with 1.18.33).
//
// The configuration that names this plugin denies every tool; the plugin takes that back once it is loaded. So where it is
// not loaded, or fails while it loads, no tool is offered to the model. It runs inside the agent's process: there is no
// program to kill, and whatever goes wrong on the way to the gate is thrown, which is a denial with its reason.
import fs from "node:fs"
import net from "node:net"
import readline from "node:readline"

const gate = process.env.HEADGATE_GATE
const ours = "file:///etc/opencode/headgate.js"
// Where a person's words come in. Not for what it starts, which has other things open there.
const speech = process.env.HEADGATE_SAID
delete process.env.HEADGATE_SAID

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
        resolve(JSON.parse(text) ?? {})
      } catch {
        reject(new Error("denied: the gate closed the connection without an answer"))
      }
    })
  })

const allows = (answer) => answer.v === 1 && answer.decision === "allow"

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

  // What a person says while it runs, as lines of {id, text}: each is a message to the main session, heard when the model answers
  // it or one after it.
  let main
  const said = []
  const hear = async ({ id, text }) => {
    said.push({ id, text })
    await client.session.promptAsync({ path: { id: main }, body: { parts: [{ type: "text", text }] } })
  }
  const early = []
  const begin = async (id) => {
    if (main || !id || (await session(id)).parentID || main) return
    main = id
    for (const message of early) await hear(message)
  }
  const listen = (fd) => {
    const stream = fs.createReadStream("", { fd })
    readline.createInterface({ input: stream }).on("line", (line) => {
      const message = JSON.parse(line)
      if (main) hear(message).catch(() => undefined)
      else early.push(message)
    })
    stream.on("error", () => undefined)
  }
  if (speech) listen(Number(speech))
  const heard = async ({ type, properties }) => {
    if (!speech) return
    await begin(properties.sessionID ?? properties.info?.sessionID ?? properties.part?.sessionID)
    const part = type === "message.part.updated" ? properties.part : undefined
    const message = part?.type === "text" && said.find((one) => !one.message && one.text === part.text)
    if (message) message.message = part.messageID
    const info = type === "message.updated" ? properties.info : undefined
    if (info?.role !== "assistant" || info.sessionID !== main) return
    for (const one of said.filter((one) => one.message && one.message <= info.parentID)) {
      tell({ type: "headgate_heard", id: one.id })
      said.splice(said.indexOf(one), 1)
    }
  }

  const decide = async ({ sessionID, callID }, tool, args) => {
    const answer = await ask({
      v: 1,
      source: "hook",
      agent: "opencode",
      tool,
      args,
      cwd: directory,
      call_id: callID,
      session: sessionID,
      subagent: await subagent(sessionID),
    })
    if (allows(answer)) return
    throw new Error(answer.reason || `denied by the gate without words (call ${answer.call ?? "unknown"})`)
  }

  // Calls of the model's that may run: each asks for the shell's environment once. Of any other the command is in its message.
  const begun = new Set()
  const typed = async (sessionID, callID) => {
    const { data } = await client.session.messages({ path: { id: sessionID } })
    return data?.flatMap((message) => message.parts).find((part) => part.callID === callID)?.state.input
  }

  // In its own terminal: that it waits for its person. News; no answer rests on it.
  const rests = async ({ type, properties }) => {
    if (!process.env.HEADGATE_INTERACTIVE || !["session.idle", "question.asked"].includes(type)) return
    if (type === "session.idle" && (await session(properties.sessionID)).parentID) return
    await ask({ v: 1, rest: type === "session.idle" ? "" : "it has a question" })
  }

  return {
    event: async ({ event }) => {
      await rests(event).catch(() => undefined)
      await told(event).catch(() => undefined)
      await heard(event).catch(() => undefined)
    },
    config: async (config) => {
      // All settings are of the file that names this plugin. Others come from what a call wrote, and could name code.
      const named = [config.plugin, config.provider, config.mcp].map((part) => JSON.stringify(part ?? {})).join()
      if (config.plugin?.join() !== ours || /"(npm|command|url)":/.test(named)) throw new Error("settings that are not Headgate's")
      const answer = await ask({ v: 1, hello: true })
      if (!allows(answer)) return
      config.permission = { "*": "allow", question: process.env.HEADGATE_INTERACTIVE ? "allow" : "deny" }
    },
    "tool.execute.before": async (call, output) => {
      if (!call.tool || !output.args) throw new Error("denied: this version of OpenCode tells its calls in another way")
      await decide(call, call.tool, output.args)
      begun.add(call.callID)
    },
    // Commands of its own server's, which are no tool calls: `!command` of a person who types, and terminals.
    "shell.env": async ({ sessionID, callID }) => {
      if (begun.delete(callID)) return
      const args = callID && (await typed(sessionID, callID))
      if (!args) throw new Error("denied: a terminal of OpenCode's own does not tell what it runs")
      await decide({ sessionID, callID }, "bash", args)
    },
  }
}

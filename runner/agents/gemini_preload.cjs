// Asks Headgate's gate in place of Gemini CLI's hook (checked with 0.61.0).
//
// Gemini CLI runs a call when its hook was killed, timed out or said nothing. So the hook that its settings name is never
// started: this file is loaded into its process before it, and where it would spawn the hook it gets an object of the same
// shape that asks the gate itself. There is no program to kill, and every way to fail ends as a denial; where none would be
// heard any more, after the hook's time, the process ends. Should the real hook be started all the same (another way to spawn
// in another version), it asks the gate as well.
"use strict"
const childProcess = require("node:child_process")
const { EventEmitter } = require("node:events")
const fs = require("node:fs")
const { syncBuiltinESMExports } = require("node:module")
const net = require("node:net")

const gate = process.env.HEADGATE_GATE
const hook = process.env.HEADGATE_HOOK

const ask = (request, answered) => {
  const socket = net.connect({ path: gate })
  let text = ""
  let trouble = "the gate closed the connection without an answer"
  socket.setEncoding("utf8")
  socket.on("connect", () => socket.write(JSON.stringify(request) + "\n"))
  socket.on("data", (data) => (text += data))
  socket.on("error", (error) => (trouble = `the gate cannot be asked (${error.message})`))
  socket.on("close", () => {
    try {
      answered(JSON.parse(text))
    } catch {
      answered({ decision: "deny", reason: `denied: ${trouble}` })
    }
  })
}

const requestOf = (text) => {
  const input = JSON.parse(text)
  if (input.hook_event_name === "SessionStart") return { v: 1, hello: true }
  if (input.hook_event_name !== "BeforeTool") throw new Error("it is an event that is not known")
  if (!input.tool_input) throw new Error("it has no arguments")
  return {
    v: 1,
    source: "hook",
    agent: "gemini",
    tool: input.tool_name,
    args: input.tool_input,
    cwd: input.cwd,
    session: input.session_id,
  }
}

// What of a child process the hook runner uses.
class Hook extends EventEmitter {
  constructor() {
    super()
    this.text = ""
    this.killed = false
    this.stdout = new EventEmitter()
    this.stderr = new EventEmitter()
    this.stdin = new EventEmitter()
    this.stdin.write = (data) => (this.text += data)
    this.stdin.end = () => setImmediate(() => this.ask()) // an answer at once would come before anybody listens
  }
  ask() {
    try {
      ask(requestOf(this.text), (answer) => this.answer(answer))
    } catch (error) {
      this.answer({ decision: "deny", reason: `denied: the call cannot be read (${error.message})` })
    }
  }
  answer({ v, decision, reason, call }) {
    const output =
      v === 1 && decision === "allow"
        ? { decision: "allow" }
        : { decision: "deny", reason: reason || `denied by the gate without words (call ${call ?? "unknown"})` }
    this.stdout.emit("data", JSON.stringify(output))
    this.emit("close", 0)
  }
  // Its time is over: whatever it said now, Gemini CLI would go on as if it had been allowed.
  kill() {
    fs.writeSync(2, "headgate: Gemini CLI gave its hook up before the gate had answered, and would go on without it, so it was ended\n")
    process.kill(process.pid, "SIGKILL")
    return true
  }
}

const { spawn } = childProcess
childProcess.spawn = (file, words, ...rest) => {
  const command = Array.isArray(words) ? String(words[words.length - 1]) : ""
  return command.startsWith(`${hook} --agent gemini `) ? new Hook() : spawn(file, words, ...rest)
}
syncBuiltinESMExports()

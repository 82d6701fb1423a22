"""bench.py agents: real coding agents bare and under Headgate, against a model server of this process.

Bare is the agent with the flags of its adapter but without gate and box, in a clone of its own, over HTTP. Gated is `headgate run`
as a person types it: an overlay worktree, the box, the gate on the rung `auto`, execs watched, the key outside, so that each
request goes through the relay and TLS. A start ends when the agent's first request for its task is here (of four: the last
one's). It begins with its process (gated: the agent's first one in its box), and once more with the command that was typed.
"""
import glob
import http.server
import json
import os
import re
import shutil
import signal
import socketserver
import ssl
import statistics
import subprocess
import sys
import threading
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "agents"))
import wire

LIMIT_S = 300
KEY = "sk-ant-bench-0123456789-0123456789"
OPENCODE_OFF = {"OPENCODE_DISABLE_" + what: "1" for what in (
    "AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "EXTERNAL_SKILLS", "PROJECT_CONFIG")}


class Agent:
    """What is to be known of one agent: its program below the folder of its package, the call of its shell, how it runs bare."""

    def __init__(self, name, program, model, call, key, comms, words, env, files=None):
        self.name, self.program_glob, self.model, self.call, self.key = name, program, model, call, key
        self.comms, self.words, self.env, self.files = comms, words, env, files or (lambda url: {})
        self.program = None


AGENTS = [
    Agent("claude", "package/claude", None, lambda c: ("Bash", {"command": c, "description": "try"}), "ANTHROPIC_API_KEY",
          {"claude"},
          lambda p, prompt, url: [p, "-p", "--output-format", "stream-json", "--verbose", "--permission-mode",
                                  "bypassPermissions", "--", prompt],
          lambda url: {"ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
                       "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "IS_SANDBOX": "1"}),
    Agent("codex", "package/vendor/*/bin/codex", "gpt-5.5", lambda c: ("exec_command", {"cmd": c}), "OPENAI_API_KEY",
          {"codex", "headgate-drive"},
          lambda p, prompt, url: [p, "exec", "--json", "--skip-git-repo-check", "--disable", "plugins", "--disable", "apps",
                                  "-c", "model_provider=bench", "-c", 'model_providers.bench.name="OpenAI"',
                                  "-c", 'model_providers.bench.base_url="%s/v1"' % url,
                                  "-c", 'model_providers.bench.env_key="OPENAI_API_KEY"',
                                  "-c", 'model_providers.bench.wire_api="responses"', "-c", 'approval_policy="never"',
                                  "-c", 'sandbox_mode="danger-full-access"', "-c", "check_for_update_on_startup=false",
                                  "-c", "analytics.enabled=false", "-m", "gpt-5.5", prompt],
          lambda url: {}, lambda url: {".codex/.keep": ""}),
    Agent("gemini", "package/bundle/gemini.js", "gemini-2.5-flash",
          lambda c: ("run_shell_command", {"command": c, "description": "try"}), "GEMINI_API_KEY", {"node", "MainThread", "gemini"},
          lambda p, prompt, url: ["node", p, "--approval-mode=yolo", "--model=gemini-2.5-flash", "--output-format=stream-json",
                                  "--prompt=" + prompt],
          lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
          lambda url: {".gemini/settings.json": json.dumps({
              "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
              "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}, "privacy": {"usageStatisticsEnabled": False},
              "telemetry": {"enabled": False}})}),
    Agent("opencode", "package/bin/opencode", "openai/gpt-4.1", lambda c: ("bash", {"command": c, "description": "try"}),
          "OPENAI_API_KEY", {"opencode"},
          lambda p, prompt, url: [p, "run", "--format", "json", "--model", "openai/gpt-4.1", "--", prompt],
          lambda url: dict(OPENCODE_OFF),
          lambda url: {".config/opencode/opencode.json": json.dumps({
              "autoupdate": False, "share": "disabled", "permission": {"*": "allow"},
              "provider": {"openai": {"options": {"baseURL": url + "/v1"}}}})}),
]


class Model:
    """Conversations by the mark in their task: `s...` is held at its first request until release(), then ends; `c...` makes as many
    shell calls as it was told. seen maps a conversation to the times of its requests, and of the answers."""

    def __init__(self):
        self.seen, self.calls, self.changed, self.is_held = {}, {}, threading.Condition(), True

    def expect(self, name, agent, calls=0):
        with self.changed:
            self.is_held = True
            self.seen[name], self.calls[name] = [], (agent, calls)

    def arrived(self, name, at):
        with self.changed:
            self.seen[name].append([at, None])
            self.changed.notify_all()
            while name.startswith("s") and self.is_held:
                self.changed.wait()
            return self.seen[name][-1]

    def release(self):
        with self.changed:
            self.is_held = False
            self.changed.notify_all()

    def wait_for(self, names, count):
        with self.changed:
            if not self.changed.wait_for(lambda: all(len(self.seen[n]) >= count for n in names), LIMIT_S):
                sys.exit("no request came: %s" % {n: len(self.seen[n]) for n in names})

    def answer(self, path, raw, at):
        """(type, bytes, the entry whose answer this is or None)"""
        body = json.loads(raw or "{}")
        protocol, is_stream = wire.protocol_of(path, body)
        if protocol is None:
            return "application/json", b'{"input_tokens":100,"totalTokens":100}', None
        users, turn, _, tools = protocol.digest(body)
        named = re.search(r"@@(\w+)@@", "\n".join(users))
        entry, step = None, {"text": "A title"}
        is_task = tools or (protocol is wire.Responses and "title for this conversation" not in raw)
        if named and named.group(1) in self.seen and is_task:
            entry = self.arrived(named.group(1), at)
            agent, calls = self.calls[named.group(1)]
            step = {"text": "done"}
            if turn < calls:
                tool, args = agent.call("echo %d" % turn)
                step = {"calls": [{"name": tool, "input": args}]}
        if not is_stream:
            return "application/json", json.dumps(protocol.whole(body, step)).encode(), entry
        return "text/event-stream", "".join(
            "%sdata: %s\n\n" % ("event: %s\n" % name if name else "", event if isinstance(event, str) else json.dumps(event))
            for name, event in protocol.stream(body, step)).encode(), entry


def serve(model, context=None):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def send(self, kind, data):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            self.send("application/json", b'{"object":"list","data":[]}')

        do_HEAD = do_GET

        def do_POST(self):
            at = time.time()
            raw = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
            kind, data, entry = model.answer(self.path.split("?")[0], raw, at)
            if entry:
                entry[1] = time.time()
            self.send(kind, data)

    class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def get_request(self):
            client, place = super().get_request()
            return (context.wrap_socket(client, server_side=True, do_handshake_on_connect=False) if context else client), place

        def handle_error(self, *_):
            pass  # an agent that ends leaves connections behind

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def find_programs(bench, names):
    """Those of the build tree (tests/agents/install.sh), else those in PATH; prints why one is left out."""
    pinned = dict(re.findall(r"^([A-Z]+)_VERSION=(.*)$", open(TESTS + "/agents/install.sh").read(), re.M))
    found = []
    for agent in (a for a in AGENTS if not names or a.name in names):
        folder = "%s/../agents/%s-%s/" % (bench.BIN, agent.name, pinned[agent.name.upper()])
        agent.program = (glob.glob(folder + agent.program_glob) or [shutil.which(agent.name)])[0]
        if not agent.program:
            print("%s is left out: not in PATH, and sh tests/run.sh --agents has not fetched it" % agent.name)
        elif agent.name == "gemini" and not shutil.which("node"):
            print("gemini is left out: no node in PATH")
        else:
            agent.program = os.path.realpath(agent.program)
            os.makedirs("%s/programs/%s" % (bench.WORLD, agent.name))
            os.symlink(agent.program, "%s/programs/%s/%s" % (bench.WORLD, agent.name, agent.name))
            bench.ENV["PATH"] = "%s/programs/%s:%s" % (bench.WORLD, agent.name, bench.ENV["PATH"])
            found.append(agent)
    return found


class Bare:
    def __init__(self, bench, repo, url):
        self.bench, self.repo, self.url, self.n, self.running = bench, repo, url, 0, []

    def start(self, agent, names):
        """Start one for each conversation; (nothing to hold them by, start times). Clones and homes are made before."""
        places, begun = [], {}
        for name in names:
            place = "%s/bare/%d" % (self.bench.WORLD, self.n)
            self.n += 1
            self.bench.sh("git", "clone", "-q", self.repo, place + "/tree")
            for path, text in agent.files(self.url).items():
                os.makedirs(os.path.dirname("%s/home/%s" % (place, path)))
                with open("%s/home/%s" % (place, path), "w") as out:
                    out.write(text)
            os.makedirs(place + "/home", exist_ok=True)
            places.append((name, place))
        for name, place in places:
            env = dict(self.bench.ENV, HOME=place + "/home", **{agent.key: KEY}, **agent.env(self.url))
            for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
                env.pop(variable)
            begun[name] = time.time()
            self.running.append(subprocess.Popen(agent.words(agent.program, "@@%s@@ go" % name, self.url), env=env,
                                                 cwd=place + "/tree", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL, start_new_session=True))
        return None, begun

    def end(self, _):
        for process in self.running:
            process.wait(LIMIT_S)
        self.kill()

    def kill(self):
        """Whatever they have left too."""
        for process in self.running:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.running = []


def processes():
    """pid -> (name, parent, start time as time.time())"""
    offset = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = open(path).read()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        found[int(path.split("/")[2])] = (text[text.index("(") + 1:text.rindex(")")], int(fields[1]),
                                          offset + int(fields[19]) / os.sysconf("SC_CLK_TCK"))
    return found


def below(all_of, top):
    members, grown = {top}, True
    while grown:
        new = {pid for pid, (_, parent, _) in all_of.items() if parent in members} - members
        members |= new
        grown = bool(new)
    return members


def memory_kib(pid):
    """PSS; the relay and pid 1 of a box let nobody of this account look, so of them what is theirs alone by /proc/PID/status."""
    try:
        return int(re.search(r"^Pss:\s+(\d+)", open("/proc/%d/smaps_rollup" % pid).read(), re.M).group(1))
    except PermissionError:
        return int(re.search(r"^RssAnon:\s+(\d+)", open("/proc/%d/status" % pid).read(), re.M).group(1))


class Gated:
    def __init__(self, bench, repo, url):
        self.bench, self.repo, self.url = bench, repo, url

    def start(self, agent, names):
        self.bench.ENV.update({agent.key: KEY, "ANTHROPIC_BASE_URL": self.url, "OPENAI_BASE_URL": self.url + "/v1",
                               "GOOGLE_GEMINI_BASE_URL": self.url})
        prompts = [word for name in names for word in ("-p", "@@%s@@ go" % name)]
        typed = time.time()
        made = json.loads(self.bench.sh("headgate", "run", "--detach", "--json", "--agent", agent.name, "-j", str(len(names)),
                                        "--ladder", "auto", *prompts, cwd=self.repo))
        self.bench.ENV.pop(agent.key)
        return [a["id"] for a in made["attempts"]], {name: typed for name in names}

    def shown(self, ids):
        return [json.loads(self.bench.sh("headgate", "show", i, "--json"))["attempts"][0] for i in ids]

    def begun(self, agent, ids, names):
        """When the agents' first processes in their boxes were made."""
        all_of = processes()
        return {name: min(all_of[pid][2] for pid in below(all_of, shown["keeper_pid"]) if all_of[pid][0] in agent.comms)
                for name, shown in zip(names, self.shown(ids))}

    def memory(self, ids):
        """KiB that Headgate takes for each of these: by part."""
        all_of = processes()
        parts = {"server (share)": memory_kib(json.loads(self.bench.sh("headgate", "serve", "--status", "--json"))["pid"]) / len(ids)}
        for shown in self.shown(ids):
            for pid in below(all_of, shown["keeper_pid"]):
                name = all_of[pid][0]
                if name.startswith("headgate"):
                    parts[name] = parts.get(name, 0) + memory_kib(pid) / len(ids)
        return parts

    def end(self, ids):
        self.bench.sh("headgate", "logs", "-f", ids[0])
        deadline = time.time() + LIMIT_S
        while any(a["state"] != "done" for a in self.shown(ids)):
            if time.time() > deadline:
                sys.exit("%s do not end" % ids)
            time.sleep(0.1)
        self.bench.sh("headgate", "discard", "--force", *ids, cwd=self.repo)


class Results:
    def __init__(self):
        self.of = {}

    def add(self, key, value):
        self.of.setdefault(key, []).append(value)


def start_round(model, way, agent, names, results, kind):
    for name in names:
        model.expect(name, agent)
    handle, begun = way.start(agent, names)
    model.wait_for(names, 1)
    first = {name: model.seen[name][0][0] for name in names}
    if isinstance(way, Gated):
        results.add((kind, "typed"), max(first[n] - begun[n] for n in names))
        begun = way.begun(agent, handle, names)
        for part, kib in way.memory(handle).items():
            results.add((kind, "memory", part), kib)
    results.add((kind, "gated" if isinstance(way, Gated) else "bare"), max(first[n] - begun[n] for n in names))
    model.release()
    way.end(handle)


def call_round(model, way, agent, name, calls, results):
    """One conversation of so many shell calls: from an answer that asks for one to the request that brings its result."""
    model.expect(name, agent, calls)
    handle, _ = way.start(agent, [name])
    model.wait_for([name], calls + 1)
    way.end(handle)
    seen = model.seen[name]
    spans = [seen[i + 1][0] - seen[i][1] for i in range(calls)]
    results.add(("call", "gated" if isinstance(way, Gated) else "bare"), statistics.median(spans))


def tell(bench, agent, results):
    of = results.of
    for kind, title in (("one", "one alone"), ("four", "four at once")):
        bench.report("%s, %s, bare: process to request" % (agent.name, title), of[kind, "bare"], 1, "s")
        bench.report("%s, %s, gated: process to request" % (agent.name, title), of[kind, "gated"], 1, "s")
        bench.report("%s, %s, gated: command to request" % (agent.name, title), of[kind, "typed"], 1, "s")
        bench.ratio("%s, %s, gated / bare" % (agent.name, title), of[kind, "gated"], of[kind, "bare"])
    bench.report("%s, one shell call, bare" % agent.name, of["call", "bare"])
    bench.report("%s, one shell call, gated" % agent.name, of["call", "gated"])
    bench.report("%s, added by the gate to one call" % agent.name, [a - b for a, b in zip(of["call", "gated"], of["call", "bare"])])
    for kind in ("one", "four"):
        parts = {key[2]: statistics.median(values) for key, values in of.items() if key[:2] == (kind, "memory")}
        print("%-44s %.1f MB an agent (%s)" % ("%s, memory of Headgate, %s" % (agent.name, kind), sum(parts.values()) / 1024, ", ".join(
            "%s %.1f" % (part, kib / 1024) for part, kib in sorted(parts.items()))), flush=True)


def bench_agent(bench, model, ways, agent, rounds, calls):
    results = Results()
    for i in range(rounds + 1):
        round_results = results if i else Results()  # the first fills caches
        for way in ways if i % 2 else reversed(ways):
            mark = "%s%s%d" % (agent.name, type(way).__name__, i)
            start_round(model, way, agent, ["s1" + mark], round_results, "one")
            start_round(model, way, agent, ["s4%s%d" % (mark, k) for k in range(4)], round_results, "four")
            call_round(model, way, agent, "c" + mark, calls, round_results)
    tell(bench, agent, results)


def run(bench, names, rounds, calls):
    bench.sh("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost", "-keyout", bench.WORLD + "/tls.key", "-out", bench.WORLD + "/tls.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bench.WORLD + "/tls.pem", bench.WORLD + "/tls.key")
    model, repo, agents = Model(), bench.make_repo(bench.WORLD + "/repo", 20), find_programs(bench, names)
    bare = Bare(bench, repo, "http://127.0.0.1:%d" % serve(model))
    gated = Gated(bench, repo, "https://localhost:%d" % serve(model, context))
    os.makedirs(bench.WORLD + "/config/headgate")
    config = ["git", "config", "--file", bench.WORLD + "/config/headgate/config"]
    bench.sh(*config, "run.canary", "false")  # made once for each version of an agent: no part of a start
    try:
        for agent in agents:
            bench.sh(*config, "agent.%s.ca" % agent.name, bench.WORLD + "/tls.pem")
            if agent.model:
                bench.sh(*config, "agent.%s.model" % agent.name, agent.model)
            bench_agent(bench, model, (bare, gated), agent, rounds, calls)
    finally:
        bare.kill()

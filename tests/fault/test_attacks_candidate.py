"""Hostile candidates in TypeScript: what they reach for is not there, what they take too much of ends them alone."""

import os
import socket
import threading

import pytest
from attack_arena import SECRET, below, beside, nothing_left, play_pi, told
from wmo_contracts.episode import Observation
from wmo_episode.server import MAX_CONNECTIONS

LOOK = """
const wanted = "WANTED", found: string[] = [], seen = new Set<string>();
const look = (path: string, depth: number) => {
  let entries: any[] = [];
  try { entries = fs.readdirSync(path, { withFileTypes: true }); } catch { return; }
  for (const entry of entries) {
    const place = path === "/" ? `/${entry.name}` : `${path}/${entry.name}`;
    if (["/dev", "/sys", "/usr", "/proc", "/opt/node"].includes(place)) continue;
    if (["/run/wmo/node_modules", "/run/wmo/harness"].includes(place)) continue;
    if (place.includes(wanted)) found.push(place);
    if (entry.isDirectory() && depth < 8) look(place, depth + 1);
    else if (entry.isFile()) try { if (fs.readFileSync(place).includes(wanted)) found.push(place); } catch {}
  }
};
look("/", 0);
for (const process of fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)))
  for (const name of ["environ", "cmdline", "maps", "cwd", "root", "fd"])
    try {
      const place = `/proc/${process}/${name}`;
      const link = name === "cwd" || name === "root";
      const data = link ? fs.readlinkSync(place) : name === "fd" ? fs.readdirSync(place).map((fd) => {
        try { return fs.readlinkSync(`${place}/${fd}`); } catch { return ""; } }).join() : fs.readFileSync(place);
      if (data.includes(wanted)) found.push(place);
    } catch {}
if (JSON.stringify(process.env).includes(wanted)) found.push("env");
"""


@pytest.fixture
def before():
    """Give what runs below us already."""
    return below()


def test_the_key_is_nowhere(tmp_path, monkeypatch, before):
    monkeypatch.setenv("WMO_API_KEY", SECRET)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wmo.toml").write_text(f'[roles.worker]\nbase_url = "http://{SECRET}.invalid/v1"\nmodel = "m"\n')
    (tmp_path / "work").mkdir()
    control = "fs.writeFileSync('/tmp/own', wanted); look('/tmp', 0); say(found);"  # it does find what is there
    assert told(play_pi(tmp_path / "work", LOOK.replace("WANTED", SECRET) + control)) == ["/tmp/own"]
    nothing_left(before)


def test_neither_suite_nor_project_nor_another_trial_is_there(tmp_path):
    other = tmp_path / "other-trial-marker"
    other.mkdir()
    (other / "notes").write_text("other-trials-words")
    places = ["/work", "/root", "/home", "/app", "/tests", "/solution", "/logs", "/mnt", "/srv", "/etc/shadow"]
    code = LOOK.replace("WANTED", "other-trials-words") + (
        f"const there = {places}.filter((path) => fs.existsSync(path)); say([found, there]);"
    )
    assert told(play_pi(tmp_path / "other-trial-marker", code)) == [[], []]


def test_nothing_is_written_outside_its_own_tmp(tmp_path, before):
    code = """
    const done: string[] = [];
    const folders = ["/", "/usr", "/etc", "/opt", "/opt/node", "/run", "/run/wmo", "/run/wmo/harness", "/dev"];
    for (const folder of [...folders, "/proc/sys/kernel"])
      for (const act of [() => fs.writeFileSync(folder + "/x", "x"), () => fs.symlinkSync("/tmp", folder + "/y"),
                         () => fs.renameSync("/tmp", folder + "/z"), () => fs.linkSync("/etc/passwd", folder + "/l")])
        try { act(); done.push(folder); } catch {}
    say(done);
    """
    assert told(play_pi(tmp_path, code)) == []
    assert list(tmp_path.iterdir()) == []
    nothing_left(before)


def test_the_network_has_one_address(tmp_path):
    code = """
    const open: string[] = [];
    const knock = (host: string, port: number) => new Promise<void>((go) => {
      const line = net.connect({ port, host, timeout: 500 });
      const end = () => { line.destroy(); go(); };
      line.on("connect", () => { open.push(`${host}:${port}`); end(); });
      line.on("error", end); line.on("timeout", end);
    });
    for (const host of ["127.0.0.1", "::1", "1.1.1.1", "10.0.0.1", "172.17.0.1", "169.254.169.254", "localhost"])
      await Promise.all([22, 53, 80, 443, 2375, 8000, 8080, 11434].map((port) => knock(host, port)));
    say([open, Object.keys((await import("node:os")).networkInterfaces())]);
    """
    open_there, interfaces = told(play_pi(tmp_path, code))
    assert sorted(open_there) == ["localhost:8080", "shim"]  # its own, whose address stands in no note
    assert interfaces == ["lo"]


def test_no_abstract_socket_of_the_host_is_reached(tmp_path):
    with socket.socket(socket.AF_UNIX) as ours:
        ours.bind(f"\0wmo-attack-{os.getpid()}")
        ours.listen()
        code = f"""
        const line = net.connect("\\0wmo-attack-{os.getpid()}", () => say("open"));
        line.on("error", (error: any) => say(error.code));
        await pause(5000);
        """
        assert told(play_pi(tmp_path, code)) == "ECONNREFUSED"


def test_another_episodes_shim_is_not_at_the_same_address(tmp_path):
    """Two episodes at once have the same address inside; neither token opens the other's door, nor is it reachable."""
    code = """
    const before = await ask("POST", "/tool", { name: "bash", arguments: { command: "MINE" } });
    await pause(700);
    const after = await ask("POST", "/tool", { name: "bash", arguments: { command: "MINE" } });
    say([url, before.body.content, after.body.content]);
    """

    class Echo:
        def __init__(self, name):
            self.name, self.calls = name, []

        def execute(self, action):
            self.calls.append(action.arguments["command"])
            return Observation(content=self.name)

        def close(self):
            pass

    echoes = {name: Echo(name) for name in ("one", "two")}
    found = {}

    def play(name):
        (tmp_path / name).mkdir()
        found[name] = told(play_pi(tmp_path / name, code.replace("MINE", name), environment=echoes[name]))

    threads = [threading.Thread(target=play, args=(name,)) for name in echoes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: found[name][1:] for name in found} == {"one": ["one", "one"], "two": ["two", "two"]}
    assert found["one"][0] == found["two"][0]
    assert {name: echo.calls for name, echo in echoes.items()} == {"one": ["one", "one"], "two": ["two", "two"]}


def test_a_tool_call_without_the_token_does_nothing(tmp_path):
    code = """
    const call = { name: "bash", arguments: { command: "true" } }, given: any[] = [];
    for (const key of ["", "x", token + "x", token.slice(1), token.toUpperCase(), "\\u00e9"])
      given.push((await ask("POST", "/tool", call, key)).status);
    given.push((await ask("POST", "/done", { answer: "x", reason: "submit" }, "")).status);
    say(given);
    """
    result = play_pi(tmp_path, code)
    assert told(result) == [401] * 7
    assert result.turns == 1


BOMBS = {
    "spawns": ("for (;;) spawn('sleep', ['100']);", "more than 256 processes"),
    "forks": (
        "fs.writeFileSync('/tmp/b', 'b(){ b|b& };b;sleep 9'); spawn('bash', ['/tmp/b']); await pause(20000); say(0);",
        "more than 256 processes",
    ),
    "allocates": ("const held: any[] = []; for (;;) held.push(Buffer.alloc(64 << 20, 1));", "memory"),
    "allocates in many": (
        "const hog = 'const a=[];for (let i = 0; i < 9; i++) a.push(Buffer.alloc(1<<26, 1)); setTimeout(() => 0, 9e3)';"
        "for (let i = 0; i < 6; i++) spawn(process.execPath, ['-e', hog]); await pause(20000); say(0);",
        "more than 2048 MiB of memory",
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_takes_too_much_ends_alone_and_is_told(tmp_path, bomb):
    code, words = BOMBS[bomb]
    with beside(tmp_path):
        result = play_pi(tmp_path / "honest", code)
    assert result.stop_reason == "error"
    assert words in result.note


def test_a_disk_is_not_filled(tmp_path):
    code = """
    const chunk = Buffer.alloc(1 << 20, 1), kept: any = {};
    for (const folder of ["/tmp", "/dev/shm"]) {
      let written = 0;
      for (let i = 0; i < 20; i++) try {
        const file = fs.openSync(`${folder}/f${i}`, "w");
        if (i > 0) fs.unlinkSync(`${folder}/f${i}`);
        for (let j = 0; j < 100; j++) written += fs.writeSync(file, chunk);
      } catch {}
      kept[folder] = written >> 20;
    }
    let sparse = "written";
    try { fs.writeFileSync("/dev/shm/s", ""); fs.truncateSync("/dev/shm/s", 64 * 2 ** 30); }
    catch (error: any) { sparse = error.code; }
    say([kept, sparse]);
    """
    kept, sparse = told(play_pi(tmp_path, code))
    assert all(mebibytes <= 64 for mebibytes in kept.values())
    assert sparse == "EFBIG"
    assert list(tmp_path.iterdir()) == []


def test_done_counts_once(tmp_path):
    code = """
    for (const answer of ["first", "second"]) await ask("POST", "/done", { answer, reason: "submit" });
    await ask("POST", "/tool", { name: "bash", arguments: { command: "true" } });
    await pause(10000);
    """
    result = play_pi(tmp_path, code)
    assert (result.stop_reason, result.answer, result.turns) == ("submitted", "first", 0)


def test_a_model_is_asked_no_more_than_twice_a_turn(tmp_path):
    code = """
    const body = { messages: [{ role: "user", content: "again" }] };
    for (let i = 0; i < 50; i++) await ask("POST", "/v1/chat/completions", body);
    say("answered for ever");
    """
    result = play_pi(tmp_path, code)
    assert (result.stop_reason, result.usage.calls) == ("budget", 40)  # max_turns is 20
    assert result.note == "the agent used all 40 model calls and asked for one more"


def test_ten_thousand_tool_calls(tmp_path):
    code = """
    const call = JSON.stringify({ name: "bash", arguments: { command: "x".repeat(2000) } });
    const headers = { Authorization: `Bearer ${token}`, "Content-Length": call.length };
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
    let last = "";
    const one = () => new Promise<void>((go) => {
      const request = http.request(url + "/tool", { method: "POST", agent, headers }, (answer) => {
        last = ""; answer.on("data", (data) => last += data); answer.on("end", go); });
      request.on("error", () => go()); request.end(call);
    });
    for (let i = 0; i < 1250; i++) await Promise.all(Array.from({ length: 8 }, one));
    say(JSON.parse(last).content);
    """
    with beside(tmp_path):
        result = play_pi(tmp_path / "honest", code, timeout_s=50)
    assert told(result) == "environment action budget exhausted"
    assert len(result.steps) <= 1001


def test_a_gibibyte_request_is_refused(tmp_path):
    code = """
    const ended = (head: string, body: (line: any) => void) => new Promise<string>((go) => {
      let said = "";
      const line = net.connect(8080, "127.0.0.1", () => { line.write(head); body(line); });
      line.on("data", (data) => { said += data; });
      line.on("error", () => go(said || "reset")); line.on("close", () => go(said));
    });
    const key = `Authorization: Bearer ${token}`;
    const head = (more: string) => ["POST /tool HTTP/1.1", "Host: x", key, more, "", ""].join("\\r\\n");
    const flood = (line: any) => {
      const chunk = Buffer.alloc(1 << 20, 32); let left = 1024;
      const more = () => {
        while (left-- > 0) if (!line.write(chunk)) { line.once("drain", more); return; }
        line.end();
      };
      more();
    };
    const declared = await ended(head(`Content-Length: ${1 << 30}`), flood);
    const streamed = await ended(head("Transfer-Encoding: chunked"), flood);
    const endless = await ended("GET /task HTTP/1.1\\r\\nX: ", flood);
    say([declared, streamed, endless].map((said) => said.slice(0, 12)));
    """
    with beside(tmp_path):
        said = told(play_pi(tmp_path / "honest", code))
    assert said[0] in {"HTTP/1.1 413", "reset"}
    assert said[1] in {"HTTP/1.1 411", "reset"}
    assert said[2] in {"HTTP/1.1 414", "HTTP/1.1 431", "HTTP/1.1 400", "reset"}


def test_slow_loris_takes_only_its_own_threads(tmp_path):
    code = """
    const lines: any[] = [];
    for (let i = 0; i < 900; i++) lines.push(net.connect(8080, "127.0.0.1").on("error", () => 0));
    const head = "POST /tool HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\n\\r\\n";
    for (let i = 0; i < 10; i++) { for (const line of lines) if (line.writable) line.write(head[i]); await pause(100); }
    say(lines.length);
    """
    most, over = [0], threading.Event()

    def watch():
        while not over.wait(0.02):
            most[0] = max(most[0], sum(thread.name == "shim" for thread in threading.enumerate()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with beside(tmp_path):
        assert told(play_pi(tmp_path / "honest", code)) == 900
    over.set()
    watcher.join()
    assert 20 < most[0] <= MAX_CONNECTIONS + 10  # and those of the honest trial

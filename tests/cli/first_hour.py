#!/usr/bin/env python3
"""Every error that a newcomer meets in the first hour: the exit status, and
the words that name the thing and the way out."""

import http.server
import pathlib
import shutil
import subprocess
import sys
import threading

from harness import (C_PROBLEM, DATA, EXIT, KFORGE, PROBLEM, environment,
                     kforge, run_tests)

GOOD = DATA / "good.c"
SOURCE = GOOD.read_text()
PYTHON = pathlib.Path(PROBLEM).read_text()
FEW = ("--calls", "20", "--baseline", "none")
JUDGE = ("verify", PROBLEM, GOOD)
ASK = ("run", PROBLEM, "--attempts", "1", "--out", "run", *FEW)


def put(folder, name, content, mode=0o644):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes)
                     else content.encode())
    path.chmod(mode)
    return path


def script(folder, name, body):
    return put(folder, name, f"#!/bin/sh\n{body}\n", 0o755)


def expect(rows, folder, **more):
    """Each row: words typed, exit status, words said; maybe environment."""
    for words, status, said, *env in rows:
        env = {"KFORGE_RETRIES": "0", "no_proxy": "*", **(env[0] if env else {})}
        result = kforge(*words, cwd=folder, env=env, **more)
        heard = result.out + result.err
        assert result.status == EXIT[status], (words, status, result)
        for part in [said] if isinstance(said, str) else said:
            assert part in heard, (words, part, result)
        if result.status and status in ("input", "unavailable", "io") and \
                len(words) > 0:
            lines = [line for line in result.err.splitlines()
                     if line.startswith("kforge: ") and "go on" not in line]
            assert len(lines) == 1, (words, result)
            assert "Traceback" not in heard, (words, result)


def test_words_that_are_not_commands_or_options(scratch):
    expect([
        ((), "input", ["verify", "doctor", "kforge COMMAND --help"]),
        (("verfy",), "input", "did you mean verify?"),
        (("frobnicate",), "input", ["'frobnicate'", "`kforge help`"]),
        (("--hlep",), "input", ["--hlep", "after a command"]),
        (("--json", "doctor"), "input", ["--json", "after a command"]),
        (("verify", "--calsl", "3"), "input", "did you mean --calls?"),
        (("verify", "-z"), "input", ["no option -z",
                                     "`kforge verify --help`"]),
        (("verify",), "input", "usage: kforge verify PROBLEM"),
        (("verify", PROBLEM), "input", "usage: kforge verify PROBLEM"),
        ((*JUDGE, "--calls"), "input", "--calls wants a value"),
        ((*JUDGE, "--calls", "many"), "input", "not 'many'"),
        ((*JUDGE, "--rules", "mine"), "input", "kforge, kernelbench"),
        ((*JUDGE, "-p", "gpu"), "input", ["gpu", "`kforge platforms`"]),
        ((*JUDGE, "-p", "cpu:9"), "unavailable", "`kforge platforms`"),
        ((*JUDGE, "--set", "SIZE"), "input", "NAME=VALUE"),
        ((*JUDGE, "--set", "SIZE=1"), "input", ["SIZE", "ROWS"]),
    ], scratch)


def test_files_that_are_not_there_or_are_something_else(scratch):
    (scratch / "empty").mkdir()
    put(scratch, "kernel.cu", SOURCE)
    put(scratch, "a/other.c", SOURCE)
    expect([
        (("verify", "none.py", GOOD), "input", ["none.py", "No such file"]),
        (("verify", PROBLEM, "none.c"), "input", "no file none.c"),
        (("verify", PROBLEM, "empty"), "input", "no program.c in empty"),
        (("verify", "empty", GOOD), "input", ["empty", "folder"]),
        (("run", "empty", "-m", "exec:true"), "input",
         ["empty", "class Model"]),
        (("verify", PROBLEM, "kernel.cu"), "input", "which are program.c"),
        (("verify", GOOD, PROBLEM), "input", "the problem comes first"),
        (("verify", PROBLEM, GOOD, "a/other.c"), "input", "a second program.c"),
        (("verify", PROBLEM, "/bin/ls"), "input", "which are program.c"),
        (("prompt", PROBLEM, "--prompts", "none"), "input", "no folder none"),
        (("show",), "input", ["./kforge-runs", "name a run's folder"]),
        (("resume",), "input", ["./kforge-runs", "name a run's folder"]),
        (("show", "none"), "input", "no run none"),
        (("show", "3"), "input", "an attempt's number comes after its run"),
        (("resume", "none"), "input", "no run none"),
        (("show", "kernel.cu"), "input", ["is not a run", "./kforge-runs"]),
        (("run", PROBLEM, "-m", "exec:true", "--start", "none.c"), "input",
         "--start: there is no file none.c"),
        (("run", PROBLEM, "-m", "replay:none.jsonl"), "input", "none.jsonl"),
        (("run", PROBLEM, "-m", "replay:kernel.cu"), "input",
         ["kernel.cu", "kforge_replay"]),
    ], scratch)


def test_problems_that_are_none(scratch):
    model = ("import torch\nclass Model(torch.nn.Module):\n"
             "    def forward(self, x):\n        return x\n")
    rows = [
        ("empty.py", "", "no class Model"),
        ("other.py", "x = 1\n", "no class Model"),
        ("no_inputs.py", model, "no function get_inputs()"),
        ("syntax.py", "class Model(:\n", "syntax.py, line 1"),
        ("needs.py", "import einops_none\n" + PYTHON,
         ["No module named 'einops_none'", "install it for /"]),
        ("binary.py", bytes(range(256)) * 9, "not a Python file in UTF-8"),
    ]
    for name, content, said in rows:
        expect([(("verify", put(scratch, name, content), GOOD), "input",
                 said)], scratch)


def test_programs_that_are_none(scratch):
    no_entry = "must define int kf_forward(struct kf_call *c)"
    rows = [
        ("", "generation_failure", "program.c is empty"),
        (bytes(range(256)) * 9, "generation_failure", no_entry),
        ("int main(void)\n{\n\treturn 0;\n}\n", "generation_failure",
         no_entry),
        (SOURCE.replace("kf_forward", "kf_foward"), "generation_failure",
         no_entry),
        ("#include <torch/nowhere.h>\n" + SOURCE, "compilation_failure",
         "torch/nowhere.h"),
    ]
    for content, status, said in rows:
        expect([(("verify", PROBLEM, put(scratch, "program.c", content)),
                 status, said)], scratch)
    expect([
        (("verify", PROBLEM, "-"), "generation_failure", "reply is empty"),
        (("verify", PROBLEM, DATA / "no_code.md"), "generation_failure",
         "no fenced block of code"),
    ], scratch)


def test_what_looks_wrong_and_is_not(scratch):
    """Line ends and marks of other systems, names with other letters."""
    crlf = put(scratch, "crlf/program.c", SOURCE.replace("\n", "\r\n"))
    mark = put(scratch, "mark/program.c", "\ufeff" + SOURCE)
    name = put(scratch, "ein schöner Ordner/größe.c", SOURCE)
    both = put(scratch, "mit Umlaut ä.py",
               "\ufeff" + PYTHON.replace("\n", "\r\n"))
    for words in ((PROBLEM, crlf), (PROBLEM, mark), (both, name)):
        expect([(("verify", *words, *FEW), "good", "correct")], scratch)
    expect([(("build", C_PROBLEM, GOOD, "--out", "ein Ordner"), "good",
             "`kforge judge 'ein Ordner'`")], scratch)


def test_a_machine_that_lacks_something(scratch):
    fresh = put(scratch, "fresh.py", f"{PYTHON}# {scratch}\n")
    plain = script(scratch, "plain", 'exec /usr/bin/python3 -S "$@"')
    old = script(scratch, "old", "echo '{\"good\": false}'")
    refused = script(scratch, "refused/bwrap", "echo 'bwrap: No permissions "
                     "to create new namespace' >&2; exit 1")
    only = scratch / "only"
    only.mkdir()
    (only / "bwrap").symlink_to(shutil.which("bwrap"))
    way_out = ["--python", "KFORGE_PYTHON"]
    verify = ("verify", fresh, GOOD)
    nowhere = {"PATH": str(scratch / "none")}
    expect([
        ((*verify, "--python", plain), "unavailable",
         ["plain has no torch", *way_out]),
        ((*verify, "--python", old), "unavailable",
         ["old is older than Python 3.8", *way_out]),
        ((*verify, "--python", "/bin/false"), "unavailable",
         ["/bin/false is not a working Python", *way_out]),
        ((*verify, "--python", "none"), "unavailable",
         ["no program none", *way_out]),
        (JUDGE, "unavailable", ["bubblewrap", "apt install", "--sandbox=weak"],
         nowhere),
        (JUDGE, "unavailable", ["KFORGE_BWRAP is /none", "unset it"],
         {"KFORGE_BWRAP": "/none"}),
        (JUDGE, "unavailable", ["No permissions", "--sandbox=weak"],
         {"KFORGE_BWRAP": str(refused)}),
        (JUDGE, "unavailable", ["gcc", "clang"],
         {"PATH": str(only)}),
        (JUDGE, "unavailable", ["KFORGE_HOME is /none", "unset it"],
         {"KFORGE_HOME": "/none"}),
        ((*JUDGE, *FEW, "--sandbox=weak"), "good", "sandbox weak",
         {"KFORGE_BWRAP": str(refused)}),
    ], scratch)


def test_folders_that_cannot_be_used(scratch):
    put(scratch, "file", "")
    ask = ("run", PROBLEM, "-m", "exec:true")
    expect([
        ((*JUDGE, "--cache", "file"), "io", ["file is not a folder",
                                             "--cache"]),
        ((*JUDGE, "--cache", "/proc/none"), "io", ["/proc/none", "--cache"]),
        (JUDGE, "unavailable", ["HOME", "XDG_CACHE_HOME", "--cache"],
         {"HOME": "", "XDG_CACHE_HOME": ""}),
        (JUDGE, "io", ["/none/", "set TMPDIR"], {"TMPDIR": "/none"}),
        (("build", GOOD, "--out", "built", "--sandbox=weak"), "io",
         ["/none/", "set TMPDIR"],
         {"TMPDIR": "/none", "KFORGE_SANDBOX_TIER": "weak"}),
        ((*ask, "--out", "file/run"), "io", "file"),
        ((*ask, "--record", "none/x"), "io", "none/x"),
    ], scratch)
    expect([(ask, "io", ["kforge-runs", "--out DIR"])], "/proc")


def in_container(folder, *words, size=1 << 18):
    """Where a new /proc is refused, as in many containers, with a small disk
    at folder/disk."""
    (folder / "disk").mkdir(exist_ok=True)
    return subprocess.run(
        ["bwrap", "--dev-bind", "/", "/", "--proc", "/proc", "--size",
         str(size), "--tmpfs", folder / "disk", "--", *words], text=True,
        env=environment(), cwd=folder, capture_output=True, check=False)


def test_a_container_that_refuses_half_of_the_namespaces(scratch):
    # A cache of its own: only Python wants /proc, and a bundle that is there
    # already needs no Python.
    verify = (KFORGE, *JUDGE, *FEW, "--cache", "cache")
    done = in_container(scratch, *verify)
    if done.returncode == 0:    # as root of a machine nothing is refused
        return
    assert done.returncode == EXIT["unavailable"], done
    assert "--sandbox=weak" in done.stderr, done
    done = in_container(scratch, *verify, "--sandbox=weak")
    assert done.returncode == 0 and "correct\n" in done.stdout, done


def test_a_full_disk(scratch):
    full = "head -c 300000 /dev/zero >disk/zero 2>/dev/null; "
    rest = f"{' '.join(FEW)} --sandbox=weak"
    rows = [
        (f"{KFORGE} verify {PROBLEM} {GOOD} --cache disk/cache {rest}",
         "No space left"),
        (f"TMPDIR={scratch}/disk {KFORGE} verify {PROBLEM} {GOOD} {rest}",
         "No space left"),
        (f"{KFORGE} run {PROBLEM} --attempts 1 -m exec:true "
         f"--out disk/run {rest}", "disk"),
        (f"{KFORGE} problem new disk/new; status=$?; test ! -e disk/new && "
         "exit $status", "No space left"),
    ]
    for command, said in rows:
        done = in_container(scratch, "sh", "-c", full + command)
        assert done.returncode == EXIT["io"] and said in done.stderr, done


class Server(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path begins with."""
    TEXT = {200: "<html>hello</html>",
            401: '{"error": {"message": "Incorrect API key provided"}}',
            404: '{"error": {"message": "The model does not exist"}}',
            429: '{"error": {"message": "Rate limit reached"}}'}

    def do_POST(self):  # pylint: disable=invalid-name
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status = int(self.path.split("/")[1])
        body = self.TEXT.get(status, "oops").encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(context=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_models_that_do_not_answer(scratch):
    server = serve()
    at = f"http://127.0.0.1:{server.server_port}"
    key = {"OPENAI_API_KEY": "sk-secret"}
    rows = [
        (None, "input", ["--model is missing", "`kforge models`"], {}),
        ("gpt-4", "input", ["'gpt-4'", "openai"], {}),
        ("opanai:x", "input", ["'opanai:x'", "openai"], {}),
        ("openai:x", "unavailable", ["OPENAI_API_KEY",
                                     "KFORGE_OPENAI_BASE_URL"],
         {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "",
          "KFORGE_OPENAI_BASE_URL": ""}),
        ("openai:x", "input", "http://", {"KFORGE_OPENAI_BASE_URL": "host"}),
        ("openai:x", "unavailable", ["cannot reach", "127.0.0.1"],
         {"KFORGE_OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}),
        ("openai:x", "unavailable", ["cannot reach", "no-host.invalid"],
         {"KFORGE_OPENAI_BASE_URL": "http://no-host.invalid/v1"}),
        ("exec:none-such", "unavailable", ["none-such", "127"], {}),
        ("exec:false", "unavailable", "status 1", {}),
    ]
    for status, said in ((200, "is the base URL right?"),
                         (401, ["OPENAI_API_KEY", "Incorrect API key"]),
                         (404, ["no such model, or the base URL is wrong",
                                "does not exist"]),
                         (429, ["limits requests", "Rate limit reached"]),
                         (500, ["status 500", "oops"])):
        rows.append(("openai:x", "unavailable", said, {
            "KFORGE_OPENAI_BASE_URL": f"{at}/{status}/v1", **key}))
    for number, (model, status, said, env) in enumerate(rows):
        words = (*ASK, "--out", f"run{number}")
        if model:
            words += ("--model", model)
        expect([(words, status, said, env)], scratch)
        result = kforge(*words, "--quiet", cwd=scratch,
                        env={"KFORGE_RETRIES": "0", "no_proxy": "*", **env}) \
            if status == "unavailable" and key.items() <= env.items() else None
        assert not result or "sk-secret" not in result.out + result.err
    server.shutdown()


def test_a_server_whose_certificate_nobody_knows(scratch):
    import ssl  # pylint: disable=import-outside-toplevel
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", scratch / "key.pem",
         "-out", scratch / "cert.pem"], capture_output=True, check=False)
    assert made.returncode == 0, made
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(scratch / "cert.pem", scratch / "key.pem")
    server = serve(context)
    env = {"KFORGE_OPENAI_BASE_URL":
           f"https://localhost:{server.server_port}/401/v1"}
    words = (*ASK, "--model", "openai:x", "--out")
    expect([
        ((*words, "a"), "unavailable", ["certificate", "SSL_CERT_FILE"], env),
        ((*words, "b"), "unavailable", "OPENAI_API_KEY",
         {**env, "SSL_CERT_FILE": str(scratch / "cert.pem")}),
        ((*words, "c"), "unavailable", ["none.pem"],
         {**env, "SSL_CERT_FILE": str(scratch / "none.pem")}),
    ], scratch)
    server.shutdown()


if not shutil.which("openssl"):
    test_a_server_whose_certificate_nobody_knows.skip = "there is no openssl"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))

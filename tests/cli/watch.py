#!/usr/bin/env python3
"""kforge verify --watch: driven by saves, told by lines, with deadlines."""

import json
import os
import queue
import re
import sys
import threading
import time

from harness import C_PROBLEM, DATA, EXIT, kforge, run_tests, signal, start

GOOD = (DATA / "good.c").read_text()
FAST = ("--baseline", "none", "--calls", "20")
TIMEOUT = 60


class Watch:
    """A running kforge verify --watch and the lines it has written."""

    def __init__(self, *program, options=FAST):
        self.process = start("verify", C_PROBLEM, *program, "--watch", *options)
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def line(self, pattern):
        """The next line that has the pattern in it."""
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                line = self.lines.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                line = None
            self.seen.append(line)
            assert line is not None, (pattern, self.seen)
            if re.search(pattern, line):
                return line

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=TIMEOUT)
        rest = []
        while (line := self.lines.get(timeout=TIMEOUT)) is not None:
            rest.append(line)
        return status, rest


def replace(path, text):
    """As many editors save: a new file, renamed over the old one."""
    beside = path.with_name("." + path.name + ".new")
    beside.write_text(text)
    os.replace(beside, path)


def test_every_save_gives_a_line_and_ctrl_c_the_best(scratch):
    program = scratch / "mine.c"
    program.write_text(GOOD)
    watch = Watch(program)
    first = watch.line("correct")
    assert re.match(r"\d\d:\d\d:\d\d  correct +[\d.e+]+ [a-z]+ ", first), first
    assert "the first that is correct" in first, first
    program.write_text((DATA / "broken.c").read_text())
    watch.line("compilation_failure: refused")
    watch.line("error: ")
    replace(program, (DATA / "wrong.c").read_text())
    watch.line("mismatch: values")
    watch.line("wrong")
    replace(program, GOOD)
    again = watch.line("  correct")
    assert re.search(r"[+-][\d.]+ % on the last, ", again), again
    assert "on the best" in again or "best so far" in again, again
    status, rest = watch.stop()
    assert status == 0, rest
    assert re.match(r"best: .* at \d\d:\d\d:\d\d$", rest[-1]), rest


def test_the_same_bytes_saved_again_are_judged_again(scratch):
    program = scratch / "program.c"
    program.write_text(GOOD)
    watch = Watch(scratch)
    watch.line("correct")
    program.write_text(GOOD)
    watch.line("correct")
    (scratch / "notes.txt").write_text("not part of the program")
    program.unlink()
    program.write_text(GOOD)
    watch.line("correct")
    assert watch.stop()[0] == 0


def test_a_save_stops_the_judgement_that_is_under_way(scratch):
    program = scratch / "program.c"
    endless = GOOD.replace(
        "	return 0;", "	for (volatile int on = 1; on;)\n		;\n"
        "	return 0;")
    program.write_text(endless)
    watch = Watch(program, options=("--baseline", "none", "-v"))
    # The talk says when the candidate's process is ready to be called.
    while "of the candidate ready" not in watch.process.stderr.readline():
        pass
    saved = time.monotonic()
    replace(program, GOOD)
    line = watch.line("correct|runtime_error")
    assert "correct" in line, (line, time.monotonic() - saved)
    assert "runtime_error" not in "".join(watch.seen), watch.seen
    watch.process.stderr.close()
    assert watch.stop()[0] == 0


def test_a_program_that_is_a_link_is_followed(scratch):
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "real.c").write_text(GOOD)
    link = scratch / "program.c"
    link.symlink_to(elsewhere / "real.c")
    watch = Watch(link)
    watch.line("correct")
    replace(elsewhere / "real.c", (DATA / "wrong.c").read_text())
    watch.line("mismatch")
    assert watch.stop()[0] == 0


def test_a_missing_file_is_waited_for(scratch):
    program = scratch / "program.c"
    program.write_text(GOOD)
    watch = Watch(program)
    watch.line("correct")
    (scratch / "other.c").write_text(GOOD)
    os.replace(program, scratch / "away.c")
    os.replace(scratch / "other.c", program)
    watch.line("correct")
    assert watch.stop()[0] == 0


def test_nothing_correct_is_said_and_shown_by_the_status(scratch):
    program = scratch / "program.c"
    program.write_text((DATA / "wrong.c").read_text())
    watch = Watch(program)
    watch.line("mismatch")
    status, rest = watch.stop()
    assert status == EXIT["canceled"], rest
    assert rest[-1] == "nothing was correct and timed", rest


def test_json_is_one_object_a_line(scratch):
    program = scratch / "program.c"
    program.write_text(GOOD)
    watch = Watch(program, options=(*FAST, "--json"))
    assert json.loads(watch.line("{"))["state"] == "correct"
    program.write_text((DATA / "wrong.c").read_text())
    verdict = json.loads(watch.line("{"))
    assert verdict["state"] == "mismatch" and verdict["at"], verdict
    assert watch.stop() == (0, []) or watch.process.returncode == 130


def test_what_cannot_be_watched_is_one_sentence(scratch):
    for program, word in (("-", "standard input"),
                          (scratch / "none.c", "none.c")):
        result = kforge("verify", C_PROBLEM, program, "--watch", *FAST)
        lines = result.err.strip().splitlines()
        assert result.status == EXIT["input"], result
        assert len(lines) == 1 and word in lines[0], result


def test_a_folder_that_goes_away_ends_it(scratch):
    folder = scratch / "folder"
    folder.mkdir()
    (folder / "program.c").write_text(GOOD)
    watch = Watch(folder)
    watch.line("correct")
    os.replace(folder, scratch / "moved")
    assert watch.process.wait(timeout=TIMEOUT) == EXIT["input"]
    assert "gone" in watch.process.stderr.read()


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))

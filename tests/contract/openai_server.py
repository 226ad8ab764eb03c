"""A chat completions server that behaves, and misbehaves, as its model's name
says. For tests/contract/provider.c: prints its port, ends when stdin does.

A request that a strict server would refuse is answered 418 in every scenario,
so that no test can pass with one.
"""

import http.server
import json
import re
import sys
import threading
import time

LOCK = threading.Lock()
ASKED = {}      # how often each model was asked
BODIES = {}     # the last body of each model
CONTEXT = 4096  # tokens, of the models that have a window


def chunk(delta=None, finish=None, **more):
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "scripted-1",
            "choices": [choice], **more}


def usage(prompt=11, completion=7):
    return {"prompt_tokens": prompt, "completion_tokens": completion,
            "total_tokens": prompt + completion}


def data(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return f"data: {text}\n\n".encode()


DONE = data("[DONE]")
STOP = data(chunk(finish="stop"))
USAGE = data({"model": "scripted-1", "choices": [], "usage": usage()})
HELLO = data(chunk({"role": "assistant", "content": "hel"})) + \
    data(chunk({"content": "lo"}))


def error(message, **more):
    return {"error": {"message": message, "type": None, "param": None,
                      "code": None, **more}}


def whole(message, finish="stop", **more):
    return {"object": "chat.completion", "model": "scripted-1",
            "choices": [{"index": 0, "message": message,
                         "finish_reason": finish}], "usage": usage(), **more}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    # --- answers ---

    def begin(self, status=200, kind="text/event-stream", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()

    def stream(self, *pieces, kind="text/event-stream"):
        self.begin(kind=kind)
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()

    def json(self, value, status=200, kind="application/json", **headers):
        self.begin(status, kind, **headers)
        self.wfile.write(json.dumps(value).encode())

    def good(self):
        self.stream(HELLO, STOP, USAGE, DONE)

    # --- the request ---

    def read(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw.decode("utf-8", "strict"))
        assert self.path == "/v1/chat/completions", self.path
        assert body["stream"] is True
        for message in body["messages"]:
            assert message["role"] in ("system", "user", "assistant")
            message["content"].encode("utf-8", "strict")
        return body

    def do_POST(self):
        try:
            self.body = self.read()
        except (AssertionError, ValueError, KeyError, TypeError) as trouble:
            self.json(error(f"not a valid request: {trouble!r}"), 418)
            return
        self.model = self.body["model"]
        self.prompt = self.body["messages"][-1]["content"]
        with LOCK:
            self.count = ASKED[self.model] = ASKED.get(self.model, 0) + 1
            before = BODIES.get(self.model)
            BODIES[self.model] = self.body
        self.repeated = before == self.body
        name = re.sub(r"\W", "_", self.model.split("/")[0])
        scenario = getattr(self, "model_" + name, None)
        try:
            if scenario:
                scenario()
            else:
                self.json(error(f"The model '{self.model}' does not exist",
                                code="model_not_found"), 404)
        except (BrokenPipeError, ConnectionResetError):
            pass    # the client had enough

    # --- scenarios: good replies in many shapes ---

    def model_echo(self):
        text = self.prompt
        half = len(text) // 2
        self.stream(data(chunk({"role": "assistant", "content": ""})),
                    *(data(chunk({"content": text[i:i + 7]}))
                      for i in range(0, half, 7)),
                    data(chunk({"content": text[half + -half % 7:]})),
                    STOP, USAGE, DONE)

    def model_bytewise(self):
        self.begin()
        for byte in HELLO + STOP + USAGE + DONE:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()

    def model_plain(self):
        self.json(whole({"role": "assistant", "content": "hello"}))

    def model_plain_as_stream(self):
        self.json(whole({"role": "assistant", "content": "hello"}),
                  kind="text/event-stream")

    def model_stream_as_json(self):
        self.stream(HELLO + STOP + USAGE + DONE, kind="application/json")

    def model_crlf(self):
        text = HELLO + STOP + USAGE + DONE
        self.stream(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))

    def model_no_last_line_end(self):
        self.stream((HELLO + STOP + DONE).rstrip(b"\n"))

    def model_parts(self):
        self.json(whole({"role": "assistant", "content": [
            {"type": "thinking",
             "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "hel"},
            {"type": "reference", "reference_ids": [1]},
            {"type": "text", "text": "lo"}]}))

    def model_part_deltas(self):
        self.stream(data(chunk({"content": [{"type": "thinking",
                                             "thinking": "hm"}]})),
                    data(chunk({"content": [{"type": "text",
                                             "text": "hello"}]})),
                    STOP, DONE)

    def model_reasoning_content(self):
        self.stream(data(chunk({"reasoning_content": "h",
                                "reasoning": "h"})),
                    data(chunk({"reasoning_content": "m"})), HELLO, STOP, DONE)

    def model_reasoning(self):
        self.stream(data(chunk({"reasoning": "hm", "content": None})),
                    HELLO, STOP, DONE)

    def model_comments(self):
        self.stream(b": keep-alive\n\n:\n", data(": PROCESSING"), HELLO,
                    b"id: 4\nretry: 10\n\n", STOP, DONE)

    def model_usage_with_finish(self):
        self.stream(HELLO, data(chunk(finish="stop", usage=usage())), DONE)

    def model_two_choices(self):
        other = chunk({"content": "WRONG"})
        other["choices"][0]["index"] = 1
        self.stream(HELLO, data(other), STOP, DONE)

    # --- scenarios: how it ended ---

    def model_length(self):
        self.stream(HELLO, data(chunk(finish="length")), DONE)

    def model_filtered(self):
        self.stream(HELLO, data(chunk(finish="content_filter")), DONE)

    def model_refusal(self):
        self.stream(data(chunk({"refusal": "I can"})),
                    data(chunk({"refusal": "not."})), STOP, DONE)

    def model_other_finish(self):
        self.stream(HELLO, data(chunk(finish="function_call")), DONE)

    def model_done_without_finish(self):
        self.stream(HELLO, DONE)

    def model_null_finish(self):
        self.stream(HELLO, data(chunk({"content": None})), DONE)

    def model_finish_without_done(self):
        self.stream(HELLO, STOP)

    def model_finish_then_silence(self):
        self.stream(HELLO, STOP)
        time.sleep(20)

    def model_exhausted(self):
        self.stream(data(chunk({"reasoning_content": "x" * 500})),
                    data(chunk(finish="length")), USAGE, DONE)

    def model_empty(self):
        self.stream(data(chunk({"content": None})), STOP, DONE)

    def model_truncating(self):
        self.stream(HELLO, STOP, data({"choices": [], "usage": usage(2048)}),
                    DONE)

    def model_broken_text(self):
        self.stream(b'data: {"choices":[{"index":0,"delta":{"content":'
                    b'"a\xff\xc3b\\ud83dc\\u0000\\ud83d\\ude00"}}]}\n\n', STOP,
                    DONE)

    # --- scenarios: once bad, then good ---

    def once(self, bad):
        if self.count == 1:
            bad()
        else:
            self.good()

    def model_cut_once(self):
        self.once(lambda: self.stream(data(chunk({"content": "junk"}))))

    def model_damaged_once(self):
        self.once(lambda: self.stream(HELLO, b'data: {"choices":[{"in\n\n',
                                      STOP, DONE))

    def model_reset_once(self):
        self.once(lambda: None)

    def model_empty_body_once(self):
        self.once(self.begin)

    def model_empty_choices_once(self):
        self.once(lambda: self.stream(data({"choices": []}), DONE))

    def model_busy_once(self):
        self.once(lambda: self.json(error("slow down"), 429, Retry_After="0"))

    def model_asks_700_ms(self):
        self.once(lambda: self.json(error("slow down"), 429,
                                    Retry_After="soon",
                                    Retry_After_ms="700"))

    def model_asks_5_s(self):
        self.json(error("slow down"), 429, Retry_After="5")

    def model_stream_error_once(self):
        self.once(lambda: self.stream(
            HELLO, data(error("overloaded", code=503)), STOP, DONE))

    # --- scenarios: requests that must change ---

    def refuse(self, member, code):
        assert not self.repeated, "the same refused request again"
        self.json(error(f"Unsupported parameter: '{member}' is not supported "
                        "with this model.", type="invalid_request_error",
                        param=member, code=code), 400)

    def model_completion_tokens(self):
        if "max_tokens" in self.body:
            self.refuse("max_tokens", "unsupported_parameter")
        else:
            assert self.body["max_completion_tokens"] == 1000
            self.good()

    def model_no_temperature(self):
        if "temperature" in self.body:
            self.refuse("temperature", "unsupported_value")
        else:
            self.good()

    def model_no_stream_options(self):
        if "stream_options" in self.body:
            self.json({"detail": [{"type": "extra_forbidden", "loc":
                                   ["body", "stream_options"]}]}, 422)
        else:
            self.good()

    def model_window(self):
        prompt, reply = 1000, self.body.get("max_tokens", 0)
        if prompt + reply > CONTEXT:
            self.json(error(
                f"This model's maximum context length is {CONTEXT} tokens. "
                f"However, you requested {prompt + reply} tokens ({prompt} in "
                f"the messages, {reply} in the completion).",
                code="context_length_exceeded"), 400)
        else:
            self.good()

    # --- scenarios: bad for good ---

    def model_prompt_too_long(self):
        self.json({"error": {"code": 500, "message": "the request exceeds the "
                             "available context size", "type":
                             "exceed_context_size_error",
                             "n_prompt_tokens": 9000, "n_ctx": CONTEXT}}, 400)

    def model_error_200(self):
        self.json(error("33/32 upstream limit", code="insufficient_quota"))

    def model_error_text(self):
        self.json({"error": "no such thing", "code": 404}, 404)

    def model_event_error(self):
        self.stream(HELLO, b'event: error\ndata: {"error": {"message": "bad '
                    b'weights", "type": "invalid_request_error"}}\n\n')

    def model_bad_key(self):
        key = self.headers.get("Authorization", "")
        self.json(error(f"Incorrect key: {key} ({key[7:27]}...)",
                        code="invalid_api_key"), 401)

    def model_down(self):
        self.json(error("down for repair"), 503)

    def model_later(self):
        self.json(error("come tomorrow"), 429, Retry_After="1000000000")

    def model_page(self):
        self.begin(kind="text/html")
        self.wfile.write(b"<html><h1>It works!</h1></html>")

    def model_words(self):
        self.begin(kind="text/plain")
        self.wfile.write(b"upstream says no")

    def model_elsewhere(self):
        self.json({}, 307, Location="http://127.0.0.1:1/v1/chat/completions")

    def model_hang(self):
        self.begin()
        self.wfile.write(data(chunk({"content": "wait"})))
        self.wfile.flush()
        time.sleep(20)

    def model_drip(self):
        self.begin()
        while True:
            self.wfile.write(b": keep-alive\n\n")
            self.wfile.flush()
            time.sleep(0.05)

    def model_flood(self):
        self.begin()
        piece = data(chunk({"content": "x" * 65536}))
        while True:
            self.wfile.write(piece)

    def model_wide_line(self):
        self.begin()
        while True:
            self.wfile.write(b"data: " + b"x" * 65536)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()

"""What `ermine serve` must survive, each with its count: swaps and stops under load, clients that are slow, many, or send
what they should not. The server runs on the loopback address and is started for each trial.

    python bench/serve_trials.py --ermine target/release/ermine [--swaps 1000] [--only swaps,stops,slow,huge,many,odd,schema]

`schema` needs schemathesis; `many` needs 10,000 open files in one process (`ulimit -n`).
"""

import argparse
import contextlib
import json
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from serve import data, memory

PREDICT = "/v1/models/m:predict"


class Server:
    """The server on a free port, until the end of the block."""

    def __init__(self, ermine, folder, *more):
        words = [ermine, "serve", "m.ermine", "--listen", "127.0.0.1:0", *more]
        self.process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
        host, port = json.loads(self.process.stderr.readline())["address"].split(":")
        self.address = (host, int(port))
        self.log = []
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.process.kill()
        self.process.wait()

    def connect(self, timeout=30):
        return socket.create_connection(self.address, timeout)

    def ask(self, request):
        with self.connect() as connection:
            with contextlib.suppress(OSError):  # a server that refuses early closes before it has everything
                connection.sendall(request)
            return read(connection.makefile("rb"))

    def memory(self):
        return memory(self.process.pid)


class Cut(Exception):
    """An answer that is not whole."""


def read(stream):
    """Status, headers and body of one whole answer."""
    first = stream.readline()
    if not first.endswith(b"\r\n"):
        raise Cut(f"ended after {first!r}")
    headers = {}
    while (line := stream.readline()) != b"\r\n":
        if not line.endswith(b"\r\n"):
            raise Cut(f"ended in the head: {line!r}")
        name, value = line.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    body = stream.read(length)
    if len(body) != length:
        raise Cut(f"{len(body)} bytes of {length}")
    return int(first.split()[1]), headers, body


def post(body, path=PREDICT, kind="application/json"):
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Load:
    """Clients that keep their connections and ask on and on. A connection that an answer announced to close is opened again."""

    def __init__(self, server, request, clients):
        self.server, self.request, self.done = server, request, threading.Event()
        self.answers, self.failures = [], []
        self.threads = [threading.Thread(target=self.client) for _ in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *problem):
        self.done.set()
        for thread in self.threads:
            thread.join()

    def client(self):
        try:
            while not self.done.is_set():
                try:
                    connection = self.server.connect()
                except ConnectionRefusedError:
                    return  # it has stopped
                with connection, connection.makefile("rb") as stream:
                    while not self.done.is_set():
                        connection.sendall(self.request)
                        status, headers, body = read(stream)
                        self.answers.append((status, body))
                        if headers.get("connection") == "close":
                            break
        except (OSError, Cut) as problem:
            self.failures.append(repr(problem))


def replace(path, source):
    shutil.copy(source, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def swaps(ermine, folder, request, count):
    """Two models take turns under load; the next comes when the last one is seen."""
    files = [folder / "logistic.ermine", folder / "bayes.ermine"]
    with Server(ermine, folder, "--reload", "2ms") as server:

        def version():
            return json.loads(server.ask(b"GET /v1/models/m HTTP/1.1\r\nhost: x\r\n\r\n")[2])["version"]

        def swap(which, last):
            replace(folder / "m.ermine", files[which])
            while (now := version()) == last:
                time.sleep(0.001)
            return now

        last, known = version(), set()
        for which in (1, 0):
            last = swap(which, last)
            known.add(server.ask(request)[2])
        with Load(server, request, 4) as load:
            for number in range(count):
                last = swap((number + 1) % 2, last)
    strange = sum(1 for status, body in load.answers if status != 200 or body not in known)
    of = [sum(1 for _, body in load.answers if body == one) for one in known]
    print(f"{count} swaps: {len(load.answers):,} answers ({of[0]:,} and {of[1]:,} of the two models), "
          f"{len(load.failures)} failed, {strange} of neither model")  # fmt: skip
    return not load.failures and not strange


def stops(ermine, folder, request, count):
    """SIGTERM under load."""
    answers, cut, late = 0, [], 0
    for number in range(count):
        with Server(ermine, folder, "--drain", "300ms") as server, Load(server, request, 16) as load:
            time.sleep(0.3 + 0.01 * number)
            server.process.send_signal(signal.SIGTERM)
            late += server.process.wait(20) != 0
            load.done.set()
        answers += len(load.answers)
        cut += load.failures
        cut += [body for status, body in load.answers if status != 200]
    print(f"{count} stops under load: {answers:,} answers, {len(cut)} cut or refused {cut[:2] or ''}, {late} ends with an error")
    return not cut and not late


def slow(ermine, folder, request, count):
    """Heads and bodies that come a byte at a time; others are served meanwhile."""
    with Server(ermine, folder, "--head-timeout", "3s", "--timeout", "5s") as server:
        before, begin = server.memory(), time.time()
        heads, bodies = [[server.connect() for _ in range(count // 2)] for _ in range(2)]
        for connection in bodies:
            connection.sendall(f"POST {PREDICT} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n".encode())
        open_, served, slowest = {*heads, *bodies}, 0, 0.0
        while time.time() < begin + 9:
            for connection in list(open_):
                try:
                    connection.sendall(b"x" if connection in bodies else b"G")
                except OSError:
                    open_.discard(connection)
            asked = time.time()
            served += server.ask(request)[0] == 200
            slowest = max(slowest, time.time() - asked)
            time.sleep(0.5)
        told = 0
        for connection in bodies:
            with contextlib.suppress(OSError, Cut):
                told += read(connection.makefile("rb"))[0] == 408
        for connection in [*heads, *bodies]:
            connection.close()
        after = server.memory()
    print(f"{count} slow clients: {len(open_)} still open after 9 s, {told} of {len(bodies)} bodies told 408, {served} others "
          f"served meanwhile (slowest {1e3 * slowest:.0f} ms), memory {before:.0f} to {after:.0f} MB")  # fmt: skip
    return not open_ and served > 10


def huge(ermine, folder, request, count):
    """A gigabyte, announced and not, several at the same time."""
    with Server(ermine, folder) as server:
        before, statuses, sent = server.memory(), [], []

        def announced():
            statuses.append(server.ask(f"POST {PREDICT} HTTP/1.1\r\nhost: x\r\ncontent-length: {1 << 30}\r\n\r\n".encode())[0])

        def in_chunks():
            chunk, bytes_ = b"100000\r\n" + bytes(1 << 20) + b"\r\n", 0
            with server.connect() as connection:
                connection.sendall(f"POST {PREDICT} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".encode())
                with contextlib.suppress(OSError):
                    for _ in range(1024):
                        connection.sendall(chunk)
                        bytes_ += 1 << 20
                sent.append(bytes_)
                try:
                    statuses.append(read(connection.makefile("rb"))[0])
                except (OSError, Cut):
                    statuses.append("closed")

        threads = [threading.Thread(target=one) for one in [announced, in_chunks] * (count // 2)]
        for thread in threads:
            thread.start()
        most = before
        while any(thread.is_alive() for thread in threads):
            most = max(most, server.memory())
            time.sleep(0.05)
        fine = server.ask(request)[0] == 200
    found = {status: statuses.count(status) for status in set(statuses)}
    print(f"{count} bodies of 1 GB: answers {found}, at most {max(sent) >> 20} MB read of one, memory {before:.0f} to "
          f"{most:.0f} MB at most, then served: {fine}")  # fmt: skip
    return fine and set(statuses) <= {413, 503, "closed"} and most < before + 512


def many(ermine, folder, request, count):
    """Connections that hold on, more than are allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server(ermine, folder, "--head-timeout", "60s") as server:
        before = server.memory()
        held = [server.connect() for _ in range(count)]
        time.sleep(1)
        served, refused, neither = 0, 0, 0
        for connection in held:
            connection.setblocking(False)
            try:
                text = connection.recv(4096)
            except BlockingIOError:
                text = None
            connection.settimeout(10)
            if text is None:  # taken: it may ask
                with contextlib.suppress(OSError, Cut):
                    connection.sendall(request)
                    status = read(connection.makefile("rb"))[0]
                    served, neither = served + (status == 200), neither + (status != 200)
                    continue
                neither += 1
            else:
                whole = text.startswith(b"HTTP/1.1 503") and b"retry-after" in text
                refused, neither = refused + whole, neither + (not whole)
        most = server.memory()
        for connection in held:
            connection.close()
        time.sleep(1)
        fine = server.ask(request)[0] == 200
    print(f"{count:,} connections: {served:,} served, {refused:,} told 503 with Retry-After, {neither} neither, memory "
          f"{before:.0f} to {most:.0f} MB, then served: {fine}")  # fmt: skip
    return fine and not neither and served + refused == count


def odd(ermine, folder, request, count):
    """What is no JSON, no UTF-8, too deep, no rows, no HTTP."""
    deep = b"[" * 1_000_000
    bodies = {
        "invalid UTF-8": b'[{"x0": "\xff\xfe"}]', "half a character": b'[{"kind": "\xe2\x82"}]', "UTF-16": "[{}]".encode("utf-16"),
        "deep lists": deep + b"]" * 1_000_000, "deep lists without an end": deep, "deep objects": b'{"a":' * 500_000,
        "deep value": b'[{"kind": ' + deep[:100_000] + b"]" * 100_000 + b"}]", "nothing": b"", "a number": b"1e999999",
        "a long number": b'[{"x0": ' + b"9" * 1_000_000 + b"}]", "zeros": bytes(100_000), "a long key": b'{"' + b"k" * 5_000_000 + b'": 1}',
    }  # fmt: skip
    with Server(ermine, folder) as server:
        statuses = {name: server.ask(post(body))[0] for name, body in bodies.items()}
        for kind in ("text/csv", "application/vnd.apache.arrow.stream"):
            for name in ("invalid UTF-8", "zeros", "nothing"):
                statuses[f"{name} as {kind}"] = server.ask(post(bodies[name], kind=kind))[0]
        for name, text in {"no HTTP": b"\x16\x03\x01\x00\xa5\r\n\r\n", "two lengths": post(b"[]").replace(
                b"host: x", b"content-length: 7")}.items():  # fmt: skip
            try:
                statuses[name] = server.ask(text)[0]
            except (OSError, Cut):
                statuses[name] = "closed"
        fine = server.ask(request)[0] == 200
    counts = {status: list(statuses.values()).count(status) for status in set(statuses.values())}
    print(f"{len(statuses)} odd bodies: answers {counts}, then served: {fine}")
    clean = {400, 413, 415, 422, "closed"}
    for name, status in statuses.items():
        if status not in clean:
            print(f"  {name}: {status}")
    return fine and set(statuses.values()) <= clean


def schema(ermine, folder, request, count):
    """Requests made from the OpenAPI document, right and wrong."""
    tool = shutil.which("schemathesis", path=str(Path(sys.executable).parent)) or shutil.which("schemathesis")
    if not tool:
        print("schema: schemathesis is not installed")
        return True
    with Server(ermine, folder) as server:
        address = "http://{}:{}/openapi.json".format(*server.address)
        words = [tool, "run", address, "--max-examples", str(count), "--seed", "1", "--max-time", "180", "--phases",
                 "examples,coverage,fuzzing"]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
        metrics = server.ask(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")[2].decode()
        fine = server.ask(request)[0] == 200
    failed = sum(int(n) for n in re.findall(r'status="5\d\d"\} (\d+)', metrics))
    asked = sum(int(n) for n in re.findall(r"ermine_requests_total\{[^}]*\} (\d+)", metrics))
    last = [line for line in done.stdout.splitlines() if line.strip()][-1:]
    print(f"schemathesis: {asked:,} requests, {failed} server errors, then served: {fine}; {' '.join(last).strip('= ')}")
    (Path(tempfile.gettempdir()) / "schemathesis.txt").write_text(done.stdout)
    return fine and not failed


TRIALS = {"swaps": (swaps, 1000), "stops": (stops, 20), "slow": (slow, 2000), "huge": (huge, 20), "many": (many, 10_000),
          "odd": (odd, 0), "schema": (schema, 300)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ermine", default="target/release/ermine")
    parser.add_argument("--only", default=",".join(TRIALS))
    parser.add_argument("--swaps", type=int, default=1000)
    args = parser.parse_args()
    ermine, failed = str(Path(args.ermine).resolve()), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data(2000, 0).to_csv(folder / "old.csv", index=False)
        for name, model in (("logistic", "LogisticRegression"), ("bayes", "GaussianNB")):
            words = [ermine, "fit", "old.csv", "--target", "label", "--model", model, "--folds", "0", "-o", f"{name}.ermine"]
            subprocess.run(words, cwd=folder, check=True, capture_output=True)
        request = post(json.dumps(data(1, 1).drop(columns="label").to_dict("records")).encode())
        for name in args.only.split(","):
            shutil.copy(folder / "logistic.ermine", folder / "m.ermine")
            trial, count = TRIALS[name]
            if not trial(ermine, folder, request, args.swaps if name == "swaps" else count):
                failed.append(name)
            sys.stdout.flush()
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()

"""What the scripts that drive `jev mcp` share: starting it, connecting to it, watching its browsers.

usage of each script: SCRIPT JEV SITE FOLDER [JUDGE]

JEV is the program, SITE the address of a fixture's folder (ends in `/`), FOLDER an empty folder for
configurations, logs and trajectories, JUDGE the address of a judge. Every check prints one line; the
first that fails ends the script with exit code 1.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

JEV, SITE, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
# Generous: the machine may be busy. Only what the product promises is held to a bound.
PATIENCE = 60
PROMISED_CLOSE = 2.0
KEY = "sk-planted-7f3a9c51e2d84b60"
TOKEN = "planted-bearer-55aa1277c0ffee00"
MODES = ["auto", "legacy"]


def check(condition, what):
    """A claim. The first that does not hold ends everything."""
    if not condition:
        raise AssertionError(what)


def environment():
    return {**os.environ, "TYPESAFE_API_KEY": KEY, "JEV_LOG": os.environ.get("JEV_LOG", "info")}


def descendants():
    """Browser processes under this one, as (pid, start time)."""
    parents, found = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            line = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        parents[int(entry.name)] = int(stat[1])
        if b"chrom" in line and stat[0] != "Z":
            found[int(entry.name)] = stat[19]

    def mine(pid):
        while pid in parents:
            if pid == os.getpid():
                return True
            pid = parents[pid]
        return False

    return {(pid, start) for pid, start in found.items() if mine(pid)}


def alive(processes):
    """Which of them still live, whoever their parent is by now."""
    left = set()
    for pid, start in processes:
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if stat[19] == start and stat[0] != "Z":
            left.add((pid, start))
    return left


async def gone(processes, began):
    """Waits until no browser is left; how long that took since `began`."""
    with anyio.fail_after(PATIENCE):
        while alive(processes):
            await anyio.sleep(0.02)
    return time.monotonic() - began


@asynccontextmanager
async def over_stdio(file, mode, person=None):
    with open(FOLDER / "stdio.log", "a") as log:
        # The SDK hands no file for the server's stderr through `Client`; the shell does.
        command = f'exec "{JEV}" mcp --config "{file}" 2>>"{log.name}"'
        server = StdioServerParameters(command="sh", args=["-c", command], env=environment())
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            yield client


@asynccontextmanager
async def http_server(file):
    """Starts `jev mcp --http`; yields its address and what stops it."""
    log = FOLDER / "http.log"
    with open(log, "ab") as stderr:
        before = log.stat().st_size
        process = subprocess.Popen(
            [JEV, "mcp", "--config", str(file), "--http", "127.0.0.1:0"],
            env={**environment(), "JEV_MCP_TOKEN": TOKEN},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    stopped = []

    def stop():
        # A second signal would end it at once, browsers or not.
        stopped.append(True)
        process.send_signal(signal.SIGTERM)

    try:
        with anyio.fail_after(PATIENCE):
            while b"listening on " not in (said := log.read_bytes()[before:]):
                check(process.poll() is None, f"the server ended: {said}")
                await anyio.sleep(0.01)
        address = said.split(b"listening on ")[1].split()[0].decode()
        yield address, stop
    finally:
        if not stopped:
            stop()
        code = await anyio.to_thread.run_sync(process.wait)
        check(code == 0, f"the server ended with {code}")
        check(process.stdout.read() == b"", "the HTTP server wrote to its standard output")


@asynccontextmanager
async def over_http(address, mode, token=TOKEN, person=None):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=person) as client:
            yield client


async def passed(name, future):
    began = time.monotonic()
    with anyio.fail_after(PATIENCE * 4):
        result = await future
    shown = f", {result:.2f} s" if isinstance(result, float) else ""
    print(f"ok  {name} ({time.monotonic() - began:.2f} s in all{shown})", flush=True)
    return result


def play(main):
    """Runs a script to its end, or to its first failure."""
    try:
        anyio.run(main)
    except BaseException as error:
        # The first cause, without the groups around it.
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        print(f"FAILED  {type(error).__name__}: {error}", flush=True)
        for log in FOLDER.glob("*.log"):
            print(f"--- {log.name}\n{log.read_text()[-3000:]}", flush=True)
        raise SystemExit(1) from error

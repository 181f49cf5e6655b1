"""Drives `jev mcp` with the official Python SDK, against a real Chromium and the help centre's pages:
the reading tool. See common.py for how it is called.
"""

import json
import time

import anyio
import jsonschema
from mcp_types import ElicitResult

from common import (
    FOLDER, KEY, MODES, PATIENCE, PROMISED_CLOSE, SITE, TOKEN, check, descendants, gone, http_server,
    over_http, over_stdio, passed, play,
)

GOAL = "How long does the warranty on a kettle last?"
EVIDENCE = "covers defects in material and workmanship for 24 months"
CALLS = 16

SOURCE = f"""
[[source]]
name = "help"
start = "{SITE}index.html"
allow = ["{SITE}*"]
expect = ["{EVIDENCE}"]
"""
READ = '[read]\nmode = "enforce"\nthreshold = 0.8\nbudget = "25s"\n'


def configuration(name, script_lines, more=""):
    """Writes a configuration with a scripted judge, and says where it is."""
    script = FOLDER / f"{name}.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in script_lines))
    file = FOLDER / f"{name}.toml"
    judge = f'[judge]\nprovider = "scripted"\npath = "{script.name}"\n'
    file.write_text(judge + SOURCE + READ + more)
    return file


def click(delay_ms=0):
    """A decision of the scripted judge."""
    return {"operation": "CLICK", "target": "Warranty policy", "delay_ms": delay_ms}


TRACE = f'[trace]\ndir = "{FOLDER / "traces"}"\n'
FAST = configuration("fast", [click()] * 200, TRACE)
SLOW = configuration("slow", [click(10_000)] * 50)
ASK = configuration("ask", [click()] * 50, '[permission]\nrule = "ask"\n')


async def lists(client):
    """The tool list is true and complete; returns the output schema."""
    tools = (await client.list_tools()).tools
    check([tool.name for tool in tools] == ["read_browser"], f"tools: {tools}")
    tool = tools[0]
    check(tool.annotations.read_only_hint is True, "not marked as read-only")
    check(tool.annotations.open_world_hint is True, "not marked as open-world")
    check(list(tool.input_schema["properties"]) == ["goal"], tool.input_schema)
    check(tool.input_schema["additionalProperties"] is False, tool.input_schema)
    jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    return tool.output_schema


async def reads(client, schema):
    """One call: progress first, then a verified result of the published shape."""
    seen = []

    async def progress(now, _total, message):
        seen.append((now, message))

    result = await client.call_tool("read_browser", {"goal": GOAL}, progress_callback=progress)
    check(not result.is_error, result)
    jsonschema.validate(result.structured_content, schema)
    read = result.structured_content
    check(read["status"] == "VERIFIED", read)
    check(read["url"] == SITE + "policies/warranty.html", read)
    check(read["evidence"][0]["quote"] == EVIDENCE, read)
    check(read["visibleText"].startswith("[Untrusted page content"), read)
    check(set(read) == {"status", "url", "version", "visibleText", "evidence"}, read)
    check(json.loads(result.content[1].text) == read, "text and structure differ")
    check(len(seen) >= 5, f"progress: {seen}")
    check([now for now, _ in seen] == sorted({now for now, _ in seen}), f"progress: {seen}")
    check("arranty" not in str(seen), f"page content in progress: {seen}")
    return result


async def refuses(client):
    """Bad calls bring typed errors and the server lives on."""
    for arguments, code in [
        ({}, "BROWSER_SCOPE_AND_GOAL_REQUIRED"),
        ({"goal": " "}, "BROWSER_SCOPE_AND_GOAL_REQUIRED"),
        ({"goal": "x" * 8001}, "BROWSER_SCOPE_AND_GOAL_REQUIRED"),
        ({"goal": GOAL, "url": "http://127.0.0.1:1/"}, "BROWSER_ARGUMENTS_INVALID"),
    ]:
        result = await client.call_tool("read_browser", arguments)
        check(result.is_error and result.content[0].text.startswith(code), result)


async def cancels(client):
    """A call given up in the middle: its browser is gone within the promised time."""
    asked = anyio.Event()

    async def progress(_now, _total, message):
        if message == "the judge is asked":
            asked.set()

    answered = []
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:

            async def call():
                answered.append(
                    await client.call_tool(
                        "read_browser", {"goal": GOAL}, progress_callback=progress
                    )
                )

            group.start_soon(call)
            await asked.wait()
            processes = descendants()
            check(processes, "no browser was running")
            began = time.monotonic()
            group.cancel_scope.cancel()
    took = await gone(processes, began)
    check(not answered, f"a cancelled call was answered: {answered}")
    check(took < PROMISED_CLOSE, f"closed {took:.2f} s after the cancel")
    check((await client.list_tools()).tools, "the server did not survive")
    return took


async def asks(connection):
    """With the rule `ask` the person behind the client decides, each time."""
    answers = iter(["accept", "decline"])

    async def person(_context, params):
        check(GOAL in params.message, params)
        return ElicitResult(action=next(answers), content={})

    async with connection(person) as client:
        result = await client.call_tool("read_browser", {"goal": GOAL})
        check(result.structured_content["status"] == "VERIFIED", result)
        result = await client.call_tool("read_browser", {"goal": GOAL})
        code = "BROWSER_PERMISSION_NOT_GIVEN"
        check(result.is_error and result.content[0].text.startswith(code), result)
    async with connection(None) as client:
        result = await client.call_tool("read_browser", {"goal": GOAL})
        check(result.is_error and result.content[0].text.startswith(code), result)


async def is_stopped(address, mode, stop):
    """A server that is told to end in the middle of a call closes its browsers first."""
    asked = anyio.Event()

    async def progress(_now, _total, message):
        if message == "the judge is asked":
            asked.set()

    async def call():
        try:
            async with over_http(address, mode) as client:
                await client.call_tool("read_browser", {"goal": GOAL}, progress_callback=progress)
        except Exception:  # Whatever the SDK makes of a server that goes away.
            return

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await asked.wait()
            processes = descendants()
            check(processes, "no browser was running")
            began = time.monotonic()
            stop()
            took = await gone(processes, began)
            group.cancel_scope.cancel()
    check(took < PROMISED_CLOSE, f"closed {took:.2f} s after the signal")
    return took


async def leaves(connection):
    """A client that goes away in the middle: its browser is gone within the promised time."""
    took = 0.0
    asked = anyio.Event()

    async def progress(_now, _total, message):
        if message == "the judge is asked":
            asked.set()

    async def stay():
        async with connection as client:
            await client.call_tool("read_browser", {"goal": GOAL}, progress_callback=progress)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def stay_until_told():
                with scope:
                    await stay()

            group.start_soon(stay_until_told)
            await asked.wait()
            processes = descendants()
            check(processes, "no browser was running")
            began = time.monotonic()
            scope.cancel()
            # Looked at while the SDK still waits for its connection to end.
            took = await gone(processes, began)
    check(took < PROMISED_CLOSE, f"closed {took:.2f} s after the client left")
    return took


async def many(client, schema):
    """As many calls as the server holds, all answered."""
    began = time.monotonic()
    with anyio.fail_after(PATIENCE * 3):
        async with anyio.create_task_group() as group:
            for _ in range(CALLS):
                group.start_soon(reads, client, schema)
    return time.monotonic() - began


async def traced(client):
    """The last trajectory is a resource."""
    resources = (await client.list_resources()).resources
    check(len(resources) == 1, resources)
    contents = (await client.read_resource(resources[0].uri)).contents
    check('"result":"VERIFIED"' in contents[0].text, contents)


async def stdio():
    for mode in MODES:
        async with over_stdio(FAST, mode) as client:
            schema = await passed(f"stdio {mode}: lists the tool", lists(client))
            await passed(f"stdio {mode}: reads", reads(client, schema))
            await passed(f"stdio {mode}: offers the trajectory", traced(client))
            await passed(f"stdio {mode}: refuses bad calls", refuses(client))
        async with over_stdio(SLOW, mode) as client:
            await passed(f"stdio {mode}: cancels", cancels(client))
        await passed(f"stdio {mode}: leaves", leaves(over_stdio(SLOW, mode)))

        def asked(person):
            return over_stdio(ASK, mode, person)

        await passed(f"stdio {mode}: asks", asks(asked))


async def http():
    for mode in MODES:
        async with http_server(FAST) as (address, _):
            async with over_http(address, mode) as client:
                schema = await passed(f"http {mode}: lists the tool", lists(client))
                await passed(f"http {mode}: reads", reads(client, schema))
                await passed(f"http {mode}: refuses bad calls", refuses(client))
                await passed(f"http {mode}: {CALLS} calls at once", many(client, schema))
            await passed(f"http {mode}: wants the token", refused(address, mode))
        async with http_server(SLOW) as (address, stop):
            async with over_http(address, mode) as client:
                await passed(f"http {mode}: cancels", cancels(client))
            await passed(f"http {mode}: leaves", leaves(over_http(address, mode)))
            await passed(f"http {mode}: is stopped", is_stopped(address, mode, stop))
        async with http_server(ASK) as (address, _):

            def asked(person):
                return over_http(address, mode, person=person)

            await passed(f"http {mode}: asks", asks(asked))


async def refused(address, mode):
    try:
        async with over_http(address, mode, token=TOKEN[:-1] + "1") as client:
            await client.list_tools()
    except Exception:  # The SDK wraps the refusal in groups of its own.
        return
    check(False, "a wrong token was let in")


def nothing_leaked():
    """No planted secret and no page text stands in any log or trajectory."""
    for file in FOLDER.rglob("*"):
        if file.is_file():
            text = file.read_bytes()
            for secret in (KEY, TOKEN):
                check(secret.encode() not in text, f"{secret} stands in {file}")
            if file.suffix == ".log":
                check(EVIDENCE.encode() not in text, f"page text stands in {file}")
                check(GOAL.encode() not in text, f"the goal stands in {file}")
    check(list(FOLDER.rglob("trajectory.jsonl")), "no trajectory was written")
    print("ok  no secret in logs and trajectories", flush=True)


async def main():
    await stdio()
    await http()
    nothing_leaked()


play(main)

"""Drives the session tools of `jev mcp` with the official Python SDK, against a real Chromium and the
panel app: judge and agent share a tab. See common.py for how it is called.
"""

import json
import sys
import time

import anyio
import jsonschema

from common import (
    FOLDER, MODES, PATIENCE, PROMISED_CLOSE, SITE, check, descendants, gone, http_server, over_http,
    over_stdio, passed, play,
)

JUDGE = sys.argv[4]
TYPED = "NK 9000 \u00dcber & more"
# The judge's server answers a goal with this word in it only after ten seconds.
SLOW = "slow"

CONFIG = FOLDER / "session.toml"
CONFIG.write_text(f"""
[judge]
provider = "systemone"
url = "{JUDGE}"
[[source]]
name = "panel"
start = "{SITE}index.html"
allow = ["{SITE}*"]
expect = ['[0-9.]+ litres']
[source.actions]
discover = "low_risk"
reserve = ["Search"]
[read]
mode = "enforce"
threshold = 0.8
budget = "30s"
[session]
tools = "allowed"
open = 2
idle = "4s"
until = "allowed"
navigate = "allowed"
fill = ["Model"]
press = ["Search"]
[trace]
dir = "{FOLDER / "traces"}"
""")

TOOLS = {
    "session_open", "session_run", "session_read", "session_wait", "session_navigate", "session_fill",
    "session_press", "session_status", "session_close",
}


async def lists(client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    check(set(tools) == TOOLS | {"read_browser"}, tools)
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        check(tool.input_schema["additionalProperties"] is False, tool)
    check(tools["session_read"].annotations.read_only_hint is True, "reading changes nothing")
    check(tools["session_press"].annotations.read_only_hint is False, "pressing may")
    return {name: tool.output_schema for name, tool in tools.items()}


def caller(client, schemas):
    async def call(tool, **arguments):
        result = await client.call_tool(tool, arguments)
        check(not result.is_error, f"{tool}: {result}")
        jsonschema.validate(result.structured_content, schemas[tool])
        check(json.loads(result.content[1].text) == result.structured_content, "text and structure")
        return result.structured_content

    return call


async def shares(client, schemas):
    """The judge opens a panel, the agent fills a field and presses a button, the judge goes on."""
    call = caller(client, schemas)
    session = (await call("session_open"))["session"]
    seen = []

    async def progress(now, _total, message):
        seen.append((now, message))

    opened = await client.call_tool(
        "session_run",
        {"session": session, "goal": "Open the search panel", "until": "Search panel"},
        progress_callback=progress,
    )
    check(opened.structured_content["status"] == "VERIFIED", opened)
    check(len(seen) >= 3, f"progress: {seen}")
    filled = await call("session_fill", session=session, name="Model", text=TYPED)
    check(filled["receipt"] == "APPLIED", filled)
    check(TYPED in filled["visibleText"], filled)
    pressed = await call("session_press", session=session, name="Search")
    check((pressed["receipt"], pressed["detail"]) == ("APPLIED", "navigated"), pressed)
    waited = await call("session_wait", session=session, textAppears="One kettle found", seconds=20)
    check(waited["outcome"] == "MET", waited)
    found = await call("session_run", session=session, goal="How large is it?")
    check(found["status"] == "VERIFIED", found)
    check(found["evidence"][0]["quote"] == "1.7 litres", found)
    done = [step["operation"] for step in found["history"]]
    check(done == ["CLICK", "HOST_FILL", "HOST_PRESS", "CLICK"], found)
    back = await call("session_navigate", session=session, url=SITE + "index.html")
    check(back["receipt"] == "APPLIED", back)
    refused = await call("session_navigate", session=session, url="http://127.0.0.1:1/")
    check((refused["receipt"], refused["detail"]) == ("REFUSED", "off_list"), refused)
    refused = await call("session_press", session=session, name="Find a kettle", role="tab")
    check((refused["receipt"], refused["detail"]) == ("REFUSED", "denied"), refused)
    read = await call("session_read", session=session)
    check("Kettle catalogue" in read["visibleText"], read)
    status = await call("session_status", session=session)
    check(len(status["history"]) == 5, status)
    check(status["metrics"]["runs"] == 2 and status["metrics"]["decisions"] == 2, status)
    closed = await call("session_close", session=session)
    check(closed["closed"] == "clean", closed)
    for tool in ["session_read", "session_close"]:
        result = await client.call_tool(tool, {"session": session})
        check(result.is_error, result)
        check(result.content[0].text.startswith("BROWSER_SESSION_UNKNOWN"), result)


async def limits(client, schemas, lasting):
    """So many sessions and no more; one that lies idle is closed and gives its place back."""
    call = caller(client, schemas)
    with anyio.fail_after(PATIENCE):
        sessions = [(await call("session_open"))["session"] for _ in range(2)]
        result = await client.call_tool("session_open", {})
        check(result.is_error, result)
        check(result.content[0].text.startswith("BROWSER_SESSION_LIMIT"), result)
        processes = descendants()
        check(processes, "no browser was running")
        began = time.monotonic()
        took = await gone(processes, began)
        result = await client.call_tool("session_read", {"session": sessions[0]})
        check(result.content[0].text.startswith("BROWSER_SESSION_UNKNOWN"), result)
    check(lasting or took < PATIENCE, "they never ended")
    return took


async def leaves(connection):
    """A client that goes away in the middle of a run on its session: its browser is gone in time."""
    told = anyio.Event()

    async def progress(_now, _total, message):
        if message == "the judge is asked":
            told.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def stay_until_told():
                with scope:
                    async with connection as client:
                        opened = await client.call_tool("session_open", {})
                        session = opened.structured_content["session"]
                        await client.call_tool(
                            "session_run",
                            {"session": session, "goal": f"A {SLOW} one", "until": "never there"},
                            progress_callback=progress,
                        )

            group.start_soon(stay_until_told)
            await told.wait()
            processes = descendants()
            check(processes, "no browser was running")
            began = time.monotonic()
            scope.cancel()
            took = await gone(processes, began)
    check(took < PROMISED_CLOSE, f"closed {took:.2f} s after the client left")
    return took


async def main():
    for mode in MODES:
        async with over_stdio(CONFIG, mode) as client:
            schemas = await passed(f"stdio {mode}: lists the tools", lists(client))
            await passed(f"stdio {mode}: shares a tab", shares(client, schemas))
            await passed(f"stdio {mode}: keeps to the limits", limits(client, schemas, True))
        await passed(f"stdio {mode}: leaves", leaves(over_stdio(CONFIG, mode)))
    for mode in MODES:
        async with http_server(CONFIG) as (address, _):
            async with over_http(address, mode) as client:
                schemas = await passed(f"http {mode}: lists the tools", lists(client))
                await passed(f"http {mode}: shares a tab", shares(client, schemas))
                await passed(f"http {mode}: keeps to the limits", limits(client, schemas, False))
            if mode == "legacy":
                # Clients whose requests stand alone can't be seen to leave; idling ends theirs.
                await passed(f"http {mode}: leaves", leaves(over_http(address, mode)))
    check(list(FOLDER.rglob("trajectory.jsonl")), "no trajectory was written")


play(main)

"""What providers refuse although each message has its shape: pairs, order, numbers. A finding is a place, a word, a reason."""

import json
import re

from shapes import SHAPES


def findings(dialect, model, body):
    """Returns what the provider would refuse of a body; the order of messages is looked at where all of them are in shape."""
    found = list(SHAPES[dialect](body, ""))
    if not found:
        found = list(RULES[dialect](body, model))
    return found + list(too_large(dialect, body))


def too_large(dialect, body):
    text = json.dumps(body)
    most = {"anthropic": (100, 32), "gemini": (3600, 100)}.get(dialect, (1500, 512))
    pictures = sum(text.count(mark) for mark in PICTURES)
    if pictures > most[0]:
        yield "", "pictures", f"{pictures} pictures, and {most[0]} are the most"
    if len(text) > most[1] << 20:
        yield "", "size", f"more than {most[1]} MB"


PICTURES = ['"type": "image"', '"type": "image_url"', '"type": "input_image"', '"inlineData"']


def paired(calls, results):
    """Checks that the results of a step answer its calls, each once."""
    for call, at in calls:
        if call not in [result for result, _ in results]:
            yield at, "unanswered", f"call {call} has no result right behind it"
    seen = set()
    for result, at in results:
        if result not in [call for call, _ in calls]:
            yield at, "orphan", f"result of {result}, which no call in front of it made"
        if result in seen:
            yield at, "repeated", f"a second result of {result}"
        seen.add(result)


def distinct(calls):
    seen = set()
    for call, at in calls:
        if call in seen:
            yield at, "repeated", f"a second call with the id {call}"
        seen.add(call)


def chat(body, model):
    messages = body["messages"]
    nth = 0
    while nth < len(messages):
        message = messages[nth]
        calls = [(call["id"], f"/messages/{nth}") for call in message.get("tool_calls", [])]
        start = nth = nth + 1
        # The results stand directly behind their calls, whoever speaks in front of them.
        while nth < len(messages) and messages[nth]["role"] == "tool":
            nth += 1
        results = [(messages[at]["tool_call_id"], f"/messages/{at}") for at in range(start, nth)]
        if start == 1 and message["role"] == "tool":
            results.insert(0, (message["tool_call_id"], "/messages/0"))
        yield from distinct(calls)
        yield from paired(calls, results)


def responses(body, model):
    items = body["input"] if isinstance(body["input"], list) else []
    for kind in ("function_call", "custom_tool_call"):
        calls = [(item["call_id"], f"/input/{nth}") for nth, item in enumerate(items) if item.get("type") == kind]
        made = dict(reversed(calls))
        yield from distinct(calls)
        answered = set()
        for nth, item in enumerate(items):
            if item.get("type") == kind + "_output":
                call = item["call_id"]
                answered.add(call)
                if call not in made or int(made[call].rsplit("/", 1)[1]) > nth:
                    yield f"/input/{nth}", "orphan", f"output of {call}, which no call in front of it made"
        for call, at in calls:
            if call not in answered:
                yield at, "unanswered", f"no tool output found for {call}"
    yield from distinct([(item["id"], f"/input/{nth}") for nth, item in enumerate(items) if item.get("id")])
    for nth, item in enumerate(items):
        if item.get("type") == "reasoning" and item.get("id"):
            behind = items[nth + 1] if nth + 1 < len(items) else {}
            by_model = behind.get("role") == "assistant" or behind.get("type", "").endswith("_call")
            if not by_model:
                yield f"/input/{nth}", "reasoning", "reasoning without the item that it belongs to"


def blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def anthropic(body, model):
    messages = merged(body["messages"])
    calls, all_calls = [], []
    for role, parts in messages:
        kinds = [part["type"] for _, part in parts]
        if role == "user":
            results = [(part["tool_use_id"], at) for at, part in parts if part["type"] == "tool_result"]
            yield from paired(calls, results)
            if "tool_result" in kinds[len(results) :]:
                yield parts[0][0], "order", "results stand in front of everything else"
            calls = []
        else:
            yield from paired(calls, [])
            calls = [(part["id"], at) for at, part in parts if part["type"] == "tool_use"]
            all_calls += calls
            first = kinds.index("tool_use") if calls else len(kinds)
            if "text" in kinds[first:]:
                yield parts[0][0], "order", "a text behind a call"
    yield from paired(calls, [])
    yield from distinct(all_calls)
    if messages[0][0] != "user":
        yield "/messages/0", "first", "the user speaks first"
    if messages[-1][0] != "user" and not goes_on_with_an_answer(model):
        yield "/messages", "last", "the conversation must end with a message of the user"
    yield from thinking(body, messages)
    breakpoints = json.dumps(body).count('"cache_control": {')
    if breakpoints > 4:
        yield "", "cache", f"{breakpoints} blocks with cache_control, and 4 are the most"


def goes_on_with_an_answer(model):
    """Models before Claude Opus 4.6 do; a date has more digits than a version."""
    version = re.search(r"claude-(?:[a-z]+-)*(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?", model)
    return version is not None and (int(version[1]), int(version[2] or 0)) < (4, 6)


def thinking(body, messages):
    """With thinking, the answer whose results come now begins with it."""
    if body.get("thinking", {}).get("type") != "enabled" or len(messages) < 2:
        return
    (_, answer), (_, results) = messages[-2:]
    is_running = any(part["type"] == "tool_result" for _, part in results)
    if is_running and "thinking" not in answer[0][1]["type"]:
        yield answer[0][0], "thinking", "expected thinking in front of the calls"


def merged(messages):
    """Puts messages of one side together, as the provider does: role, and parts with their places."""
    rounds = []
    for nth, message in enumerate(messages):
        parts = [(f"/messages/{nth}/content/{at}", part) for at, part in enumerate(blocks(message))]
        if rounds and rounds[-1][0] == message["role"]:
            rounds[-1][1].extend(parts)
        else:
            rounds.append((message["role"], parts))
    return rounds


def gemini(body, model):
    contents = body["contents"]
    roles = [content["role"] for content in contents]
    for nth in range(1, len(roles)):
        if roles[nth] == roles[nth - 1]:
            yield f"/contents/{nth}", "alternation", "the same side speaks twice"
    if roles[-1] != "user":
        yield "/contents", "last", "the conversation must end with the user"
    calls = []
    for nth, content in enumerate(contents):
        at = f"/contents/{nth}"
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if len(results) != len(calls):
            yield at, "unanswered", f"{len(results)} function responses behind {len(calls)} function calls"
        yield from paired([(identity(call), at) for call in calls], [(identity(result), at) for result in results])
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        if calls and (nth == 0 or roles[nth] != "model"):
            yield at, "first", "a call comes right behind the user or a function response"
    if calls:
        yield "/contents", "unanswered", "calls without responses"
    yield from signatures(contents, model)


def identity(part):
    """Calls are told apart by their id, else by the name of their function."""
    return (part.get("id"), part["name"])


def signatures(contents, model):
    """Since Gemini 3 the first call of each step of the running turn is signed."""
    if not model.startswith("gemini-3"):
        return
    prompts = [
        nth
        for nth, content in enumerate(contents)
        if content["role"] == "user" and not any("functionResponse" in part for part in content["parts"])
    ]
    for nth in range(prompts[-1] + 1 if prompts else 0, len(contents)):
        first = next((part for part in contents[nth]["parts"] if "functionCall" in part), None)
        if first and "thoughtSignature" not in first:
            yield f"/contents/{nth}", "signature", "function call is missing a thought_signature"


RULES = {"openai": chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}

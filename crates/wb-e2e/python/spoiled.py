"""Bodies made wrong: each takes the made request, which has everything in it, and breaks one thing."""

import copy


def take(*path):
    return lambda body: at(body, path[:-1]).pop(path[-1])


def put(*path, value):
    def spoil(body):
        at(body, path[:-1])[path[-1]] = value

    return spoil


def add(*path, value):
    return lambda body: at(body, path).append(value)


def at(body, path):
    for key in path:
        body = first(body, key) if isinstance(key, tuple) else body[key]
    return body


def first(values, wanted):
    """The first of a list that has a key, or a key with this value."""
    key, *value = wanted
    return next(each for each in values if key in each and (not value or each[key] == value[0]))


M, I, C = "messages", "input", "contents"
CALLS = ("tool_calls",)
TOOL = ("role", "tool")
CALL, OUTPUT = ("type", "function_call"), ("type", "function_call_output")

# What is broken, the word that the check finds it by, how.
SPOILED = {
    "openai": [
        ("no model", "missing", take("model")),
        ("no messages", "missing", take(M)),
        ("nothing said", "empty", put(M, value=[])),
        ("a key that is not known", "unknown", put("max_turns", value=1)),
        ("a role that is not known", "enum", put(M, 0, "role", value="toolResult")),
        ("a number as content", "type", put(M, 1, "content", value=7)),
        ("a part of another dialect", "enum", put(M, 1, "content", value=[{"type": "input_text", "text": "x"}])),
        ("a picture that is no address", "image", put(M, 1, "content", value=[{"type": "image_url", "image_url": {"url": "x"}}])),
        ("a call without an id", "missing", take(M, CALLS, "tool_calls", 0, "id")),
        ("a call without a function", "missing", take(M, CALLS, "tool_calls", 0, "function")),
        ("arguments as an object", "arguments", put(M, CALLS, "tool_calls", 0, "function", "arguments", value={})),
        ("a result without its call's id", "missing", take(M, TOOL, "tool_call_id")),
        ("a result of another call", "orphan", put(M, TOOL, "tool_call_id", value="other")),
        ("a tool without a name", "missing", take("tools", 0, "function", "name")),
        ("a tool's name with blanks", "pattern", put("tools", 0, "function", "name", value="read it")),
        ("an answer of nothing", "empty", add(M, value={"role": "assistant", "content": None})),
    ],
    "openai-responses": [
        ("no model", "missing", take("model")),
        ("no input", "missing", take(I)),
        ("a key that is not known", "unknown", put("messages", value=[])),
        ("a role that is not known", "enum", put(I, 0, "role", value="tool")),
        ("an item that is not known", "enum", put(I, 0, "type", value="tool_use")),
        ("an answer as input", "enum", put(I, 0, "content", value=[{"type": "output_text", "text": "x"}])),
        ("a picture that is no address", "image", put(I, 0, "content", value=[{"type": "input_image", "image_url": "x"}])),
        ("a call without an id", "missing", take(I, CALL, "call_id")),
        ("a call without a name", "missing", take(I, CALL, "name")),
        ("arguments as an object", "arguments", put(I, CALL, "arguments", value={})),
        ("an output as an object", "type", put(I, OUTPUT, "output", value={})),
        ("an output of another call", "orphan", put(I, OUTPUT, "call_id", value="other")),
        ("an output of the other kind", "unanswered", put(I, OUTPUT, "type", value="custom_tool_call_output")),
        ("reasoning without a summary", "missing", add(I, value={"type": "reasoning", "encrypted_content": "x"})),
        ("a tool without a name", "missing", take("tools", 0, "name")),
        ("a tool of chat", "missing", put("tools", 0, value={"type": "function", "function": {"name": "read"}})),
    ],
    "anthropic": [
        ("no model", "missing", take("model")),
        ("no limit", "missing", take("max_tokens")),
        ("a limit of nothing", "range", put("max_tokens", value=0)),
        ("no messages", "missing", take(M)),
        ("a key that is not known", "unknown", put("max_turns", value=1)),
        ("a system message", "enum", put(M, 0, "role", value="system")),
        ("content of blanks", "blank", put(M, 0, "content", value=" ")),
        ("no content", "missing", take(M, 0, "content")),
        ("a block that is not known", "enum", put(M, 0, "content", value=[{"type": "input_text", "text": "x"}])),
        ("a result by the model", "enum", put(M, 1, "role", value="user")),
        ("a picture that is no base64", "base64", put(M, 0, "content", value=[
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}])),
        ("a picture of another kind", "enum", put(M, 0, "content", value=[
            {"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "AAAA"}}])),
        ("reasoning without a signature", "missing", take(M, 1, "content", ("thinking",), "signature")),
        ("a call without an id", "missing", take(M, 1, "content", ("input",), "id")),
        ("arguments as a text", "type", put(M, 1, "content", ("input",), "input", value="{}")),
        ("a result without its call's id", "missing", take(M, 2, "content", 0, "tool_use_id")),
        ("a tool without a schema", "missing", take("tools", 0, "input_schema")),
        ("a tool whose schema is no object's", "missing", put("tools", 0, "input_schema", value={})),
    ],
    "gemini": [
        ("no contents", "missing", take(C)),
        ("nothing said", "empty", put(C, value=[])),
        ("a key that is not known", "unknown", put("messages", value=[])),
        ("a role that is not known", "enum", put(C, 1, "role", value="assistant")),
        ("no parts", "missing", take(C, 0, "parts")),
        ("a part of nothing", "empty", put(C, 0, "parts", 0, value={})),
        ("a part of two things", "empty", put(C, 1, "parts", ("functionCall",), "text", value="x")),
        ("a part of another dialect", "unknown", put(C, 0, "parts", 0, value={"type": "text", "text": "x"})),
        ("a call without a name", "missing", take(C, 1, "parts", ("functionCall",), "functionCall", "name")),
        ("a call by the user", "first", put(C, 1, "role", value="user")),
        ("arguments as a text", "type", put(C, 1, "parts", ("functionCall",), "functionCall", "args", value="{}")),
        ("a response without a name", "missing", take(C, 2, "parts", 0, "functionResponse", "name")),
        ("a response under another name", "orphan", put(C, 2, "parts", 0, "functionResponse", "name", value="other")),
        ("a response as a text", "type", put(C, 2, "parts", 0, "functionResponse", "response", value="x")),
        ("a response too many", "unanswered", add(C, 2, "parts", value={
            "functionResponse": {"name": "read", "response": {}}})),
        ("a signature that is no base64", "base64", put(C, 1, "parts", 0, "thoughtSignature", value="?")),
        ("a declaration without a name", "missing", take("tools", 0, "functionDeclarations", 0, "name")),
    ],
}


def all_of(made):
    """Makes each wrong body of the requests with everything in them."""
    for dialect, spoilers in SPOILED.items():
        good = copy.deepcopy(made[dialect]["body"])
        if dialect != "gemini":
            good["model"] = "m"
        if dialect == "anthropic":
            good["max_tokens"] = 9
        for name, word, spoil in spoilers:
            body = copy.deepcopy(good)
            spoil(body)
            yield name, dialect, word, body

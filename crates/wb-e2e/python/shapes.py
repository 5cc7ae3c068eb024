"""What a request body looks like in each dialect, as the providers document it.

A shape is a function from a value and its place to what is wrong there. None of this knows wb-dialect.
Written from memory of these pages, with what providers are known to take beyond them; compare when in doubt:
  https://platform.openai.com/docs/api-reference/chat/create
  https://platform.openai.com/docs/api-reference/responses/create
  https://platform.claude.com/docs/en/api/messages
  https://ai.google.dev/api/generate-content
"""

import base64
import binascii
import json
import re


def anything(value, at):
    return iter(())


def text(pattern=None, longest=None, blank=True):
    """A string; not of blanks alone where these are refused."""

    def check(value, at):
        if not isinstance(value, str):
            yield at, "type", f"{named(value)} where a string belongs"
        elif pattern and not re.fullmatch(pattern, value):
            yield at, "pattern", f"does not match {pattern}"
        elif longest and len(value) > longest:
            yield at, "length", f"longer than {longest}"
        elif not blank and not value.strip():
            yield at, "blank", "a text of blanks alone"

    return check


def of_type(kind, least=None):
    def check(value, at):
        # A Boolean is a number to Python.
        is_it = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not is_it:
            yield at, "type", f"{named(value)} is of another type"
        elif least is not None and value < least:
            yield at, "range", f"less than {least}"

    return check


def one_of(*words):
    def check(value, at):
        if value not in words:
            yield at, "enum", f"{value!r} is none of {', '.join(map(repr, words))}"

    return check


def listed(shape, least=0):
    def check(value, at):
        if not isinstance(value, list):
            yield at, "type", f"{named(value)} where a list belongs"
            return
        if len(value) < least:
            yield at, "empty", "a list with nothing in it"
        for nth, each in enumerate(value):
            yield from shape(each, f"{at}/{nth}")

    return check


def record(required, optional=None):
    """An object with these keys and no others."""
    optional = optional or {}

    def check(value, at):
        if not isinstance(value, dict):
            yield at, "type", f"{named(value)} where an object belongs"
            return
        for key in required:
            if key not in value:
                yield at, "missing", f"has no `{key}`"
        for key, inner in value.items():
            shape = required.get(key) or optional.get(key)
            if shape is None:
                yield at, "unknown", f"no key is named `{key}`"
            else:
                yield from shape(inner, f"{at}/{key}")

    return check


def by_key(key, shapes, otherwise=None):
    """One of several objects, told apart by the text under a key."""

    def check(value, at):
        if not isinstance(value, dict):
            yield at, "type", f"{named(value)} where an object belongs"
            return
        tag = value.get(key, otherwise)
        if tag is None:
            yield at, "missing", f"has no `{key}`"
        elif not isinstance(tag, str) or tag not in shapes:
            yield at, "enum", f"`{key}` is {tag!r}"
        else:
            yield from shapes[tag](value, at)

    return check


def string_or(other):
    string = text()

    def check(value, at):
        yield from (string if isinstance(value, str) else other)(value, at)

    return check


def nullable(shape):
    def check(value, at):
        if value is not None:
            yield from shape(value, at)

    return check


def both(first, second):
    def check(value, at):
        yield from first(value, at)
        yield from second(value, at)

    return check


def json_object(value, at):
    """A string that holds a JSON object: the arguments of a function."""
    try:
        is_object = isinstance(value, str) and isinstance(json.loads(value), dict)
    except ValueError:
        is_object = False
    if not is_object:
        yield at, "arguments", "no JSON object in a string"


def base64_data(value, at):
    try:
        base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except (AttributeError, binascii.Error, ValueError):
        yield at, "base64", "no base64"


def image_url(value, at):
    match = isinstance(value, str) and re.match(r"data:image/(png|jpeg|gif|webp);base64,(.*)", value, re.S)
    if match:
        yield from base64_data(match[2], at)
    elif not (isinstance(value, str) and re.match(r"https?://", value)):
        yield at, "image", "neither an address nor a picture in base64"


def named(value):
    names = {dict: "an object", list: "a list", str: "a string", bool: "a Boolean", type(None): "null"}
    return names.get(type(value), "a number")


OBJECT = of_type(dict)
BOOLEAN = of_type(bool)
NUMBER = of_type((int, float))
COUNT = of_type(int, 1)
NAME = text(r"[a-zA-Z0-9_-]{1,64}")


def tagged(kind, required, optional=None):
    return record({"type": one_of(kind), **required}, optional)


def parts(**shapes):
    return by_key("type", shapes)


# Chat Completions

CHAT_TEXT = tagged("text", {"text": text()})
CHAT_TEXTS = string_or(listed(parts(text=CHAT_TEXT), 1))
CHAT_IMAGE = tagged("image_url", {"image_url": record({"url": image_url}, {"detail": one_of("auto", "low", "high")})})
CHAT_CALL = tagged("function", {"id": text(longest=40), "function": record({"name": NAME, "arguments": json_object})})
CHAT_TOOL = tagged(
    "function", {"function": record({"name": NAME}, {"description": text(), "parameters": OBJECT, "strict": BOOLEAN})}
)


def has_content_or_calls(value, at):
    if isinstance(value, dict) and value.get("content") is None and not value.get("tool_calls"):
        yield at, "empty", "an answer with neither content nor calls"


CHAT_MESSAGE = by_key(
    "role",
    {
        "system": record({"role": anything, "content": CHAT_TEXTS}, {"name": text()}),
        "developer": record({"role": anything, "content": CHAT_TEXTS}, {"name": text()}),
        "user": record(
            {"role": anything, "content": string_or(listed(parts(text=CHAT_TEXT, image_url=CHAT_IMAGE), 1))},
            {"name": text()},
        ),
        "assistant": both(
            record(
                {"role": anything},
                {"content": nullable(CHAT_TEXTS), "tool_calls": listed(CHAT_CALL, 1), "name": text()},
            ),
            has_content_or_calls,
        ),
        "tool": record({"role": anything, "content": CHAT_TEXTS, "tool_call_id": text(longest=40)}),
    },
)
CHAT = record(
    {"model": text(blank=False), "messages": listed(CHAT_MESSAGE, 1)},
    {
        "tools": listed(CHAT_TOOL, 1),
        "tool_choice": anything,
        "max_completion_tokens": COUNT,
        "max_tokens": COUNT,
        "temperature": NUMBER,
        "reasoning_effort": one_of("none", "minimal", "low", "medium", "high", "xhigh"),
        "stream": BOOLEAN,
        "stream_options": record({}, {"include_usage": BOOLEAN}),
    },
)

# Responses. An answer is taken back without its id and annotations, and reasoning without its id where nothing is stored.

RESPONSES_INPUT = {
    "input_text": tagged("input_text", {"text": text()}),
    "input_image": tagged("input_image", {"image_url": image_url}, {"detail": one_of("auto", "low", "high")}),
}
RESPONSES_OUTPUT = {
    "output_text": tagged("output_text", {"text": text()}, {"annotations": listed(OBJECT), "logprobs": listed(OBJECT)}),
    "refusal": tagged("refusal", {"refusal": text()}),
}
CALL_ID = text(longest=64, blank=False)
STATUS = one_of("in_progress", "completed", "incomplete")
RESULT = string_or(listed(by_key("type", RESPONSES_INPUT), 1))
SUMMARY = tagged("summary_text", {"text": text()})


def responses_message(role, shapes):
    content = string_or(listed(by_key("type", shapes), 1))
    return record({"role": one_of(role), "content": content}, {"type": anything, "id": text(), "status": STATUS})


RESPONSES_ITEM = by_key(
    "type",
    {
        "message": by_key(
            "role",
            {
                **{role: responses_message(role, RESPONSES_INPUT) for role in ("user", "system", "developer")},
                "assistant": responses_message("assistant", RESPONSES_OUTPUT),
            },
        ),
        "function_call": tagged(
            "function_call",
            {"call_id": CALL_ID, "name": NAME, "arguments": json_object},
            {"id": text(), "status": STATUS},
        ),
        "function_call_output": tagged(
            "function_call_output", {"call_id": CALL_ID, "output": RESULT}, {"id": text(), "status": STATUS}
        ),
        "custom_tool_call": tagged(
            "custom_tool_call", {"call_id": CALL_ID, "name": NAME, "input": text()}, {"id": text()}
        ),
        "custom_tool_call_output": tagged(
            "custom_tool_call_output", {"call_id": CALL_ID, "output": RESULT}, {"id": text()}
        ),
        "reasoning": tagged(
            "reasoning",
            {"summary": listed(SUMMARY)},
            {"id": text(), "encrypted_content": nullable(text()), "content": listed(OBJECT), "status": STATUS},
        ),
        "compaction": tagged("compaction", {"encrypted_content": text()}, {"id": text()}),
    },
    otherwise="message",
)
RESPONSES_TOOL = by_key(
    "type",
    {
        "function": tagged(
            "function",
            {"name": NAME, "parameters": nullable(OBJECT)},
            {"description": nullable(text()), "strict": nullable(BOOLEAN)},
        ),
        "custom": tagged("custom", {"name": NAME}, {"description": text(), "format": OBJECT}),
    },
)
RESPONSES = record(
    {"model": text(blank=False), "input": string_or(listed(RESPONSES_ITEM, 1))},
    {
        "instructions": nullable(text()),
        "tools": listed(RESPONSES_TOOL),
        "tool_choice": anything,
        "max_output_tokens": of_type(int, 16),
        "temperature": NUMBER,
        "reasoning": OBJECT,
        "include": listed(text()),
        "store": BOOLEAN,
        "stream": BOOLEAN,
    },
)

# Messages

CACHE = {"cache_control": nullable(record({"type": one_of("ephemeral")}, {"ttl": one_of("5m", "1h")}))}
ANTHROPIC_ID = text(r"[a-zA-Z0-9_-]+")
ANTHROPIC_TEXT = tagged("text", {"text": text(blank=False)}, CACHE)
ANTHROPIC_IMAGE = tagged(
    "image",
    {
        "source": by_key(
            "type",
            {
                "base64": tagged(
                    "base64",
                    {
                        "media_type": one_of("image/png", "image/jpeg", "image/gif", "image/webp"),
                        "data": both(text(longest=5 << 20), base64_data),
                    },
                ),
                "url": tagged("url", {"url": text(r"https?://.*")}),
            },
        )
    },
    CACHE,
)
ANTHROPIC_RESULT = tagged(
    "tool_result",
    {"tool_use_id": ANTHROPIC_ID},
    {
        "content": string_or(listed(parts(text=ANTHROPIC_TEXT, image=ANTHROPIC_IMAGE))),
        "is_error": BOOLEAN,
        **CACHE,
    },
)
ANTHROPIC_CALL = tagged("tool_use", {"id": ANTHROPIC_ID, "name": text(r"[a-zA-Z0-9_-]{1,200}"), "input": OBJECT}, CACHE)


def said(shapes):
    return both(string_or(listed(parts(**shapes), 1)), not_blank)


def not_blank(value, at):
    if isinstance(value, str) and not value.strip():
        yield at, "blank", "a text of blanks alone"


ANTHROPIC_MESSAGE = by_key(
    "role",
    {
        "user": record(
            {
                "role": anything,
                "content": said({"text": ANTHROPIC_TEXT, "image": ANTHROPIC_IMAGE, "tool_result": ANTHROPIC_RESULT}),
            }
        ),
        "assistant": record(
            {
                "role": anything,
                "content": said(
                    {
                        "text": ANTHROPIC_TEXT,
                        "tool_use": ANTHROPIC_CALL,
                        "thinking": tagged("thinking", {"thinking": text(), "signature": text(blank=False)}),
                        "redacted_thinking": tagged("redacted_thinking", {"data": text()}),
                    }
                ),
            }
        ),
    },
)


def schema_of_object(value, at):
    if isinstance(value, dict) and value.get("type") != "object":
        yield at, "missing", "the schema of a tool has the type `object`"


ANTHROPIC_TOOL = record(
    {"name": text(r"[a-zA-Z0-9_-]{1,128}"), "input_schema": both(OBJECT, schema_of_object)},
    {"description": text(), "type": nullable(one_of("custom")), **CACHE},
)
ANTHROPIC = record(
    {"model": text(blank=False), "max_tokens": COUNT, "messages": listed(ANTHROPIC_MESSAGE, 1)},
    {
        "system": string_or(listed(parts(text=ANTHROPIC_TEXT))),
        "tools": listed(ANTHROPIC_TOOL),
        "tool_choice": anything,
        "temperature": NUMBER,
        "thinking": by_key(
            "type",
            {
                "enabled": tagged("enabled", {"budget_tokens": of_type(int, 1024)}),
                "disabled": tagged("disabled", {}),
                "adaptive": tagged("adaptive", {}),
            },
        ),
        "stream": BOOLEAN,
        **CACHE,
    },
)

# generateContent

GEMINI_DATA = {
    "text": text(),
    "functionCall": record({"name": text(r"[a-zA-Z0-9_.:-]{1,128}")}, {"id": text(), "args": OBJECT}),
    "functionResponse": record(
        {"name": text(r"[a-zA-Z0-9_.:-]{1,128}"), "response": OBJECT}, {"id": text(), "parts": listed(OBJECT)}
    ),
    "inlineData": record({"mimeType": text(r"[a-z]+/[a-z0-9.+-]+"), "data": base64_data}, {"displayName": text()}),
    "fileData": record({"fileUri": text()}, {"mimeType": text()}),
}


def one_datum(value, at):
    if isinstance(value, dict) and len(GEMINI_DATA.keys() & value.keys()) != 1:
        yield at, "empty", "a part has one of text, call, response and data"


GEMINI_PART = both(record({}, {**GEMINI_DATA, "thought": BOOLEAN, "thoughtSignature": base64_data}), one_datum)
GEMINI_TOOL = record(
    {},
    {
        "functionDeclarations": listed(
            record(
                {"name": text(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"), "description": text()},
                {"parameters": OBJECT, "parametersJsonSchema": OBJECT},
            ),
            1,
        )
    },
)
GEMINI = record(
    {"contents": listed(record({"role": one_of("user", "model"), "parts": listed(GEMINI_PART, 1)}), 1)},
    {
        "systemInstruction": record({"parts": listed(GEMINI_PART, 1)}, {"role": anything}),
        "tools": listed(GEMINI_TOOL),
        "toolConfig": OBJECT,
        "generationConfig": OBJECT,
        "safetySettings": listed(OBJECT),
    },
)

SHAPES = {"openai": CHAT, "openai-responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}

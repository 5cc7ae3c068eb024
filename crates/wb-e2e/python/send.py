"""Sends requests by the official SDKs to a provider of ours, and tells what came of each.

usage: python send.py REQUESTS

Each line of REQUESTS is `{"name", "dialect", "model", "kind", "body", "is_refused"}`. One line of JSON goes to standard output
for each finding, and one for the counts. An SDK may refuse what its types do not take; that counts as refused too.
"""

import base64
import collections
import json
import sys
import urllib.error
import urllib.request
from importlib.metadata import version

import anthropic
import openai
import server
import spoiled
from google import genai
from google.genai import types

PROVIDER = server.start()
BASE = f"http://127.0.0.1:{PROVIDER.server_address[1]}"
# Answers are held against the types of the SDK too.
STRICT = {"api_key": "none", "max_retries": 0, "_strict_response_validation": True}
OPENAI = openai.OpenAI(base_url=BASE + "/v1", **STRICT)
ANTHROPIC = anthropic.Anthropic(base_url=BASE, **STRICT)
GEMINI = genai.Client(api_key="none", vertexai=False, http_options=types.HttpOptions(base_url=BASE))


def chat(model, body):
    return OPENAI.chat.completions.create(model=model, **body).choices[0].message.content


def responses(model, body):
    return OPENAI.responses.create(model=model, **body).output_text


def messages(model, body):
    return ANTHROPIC.messages.create(model=model, **{"max_tokens": 1024, **body}).content[0].text


def generate(model, body):
    """The SDK takes the wire's JSON into its own types: bytes come from base64, and keys that it does not know fail."""
    contents = [types.Content.model_validate_json(json.dumps(content)) for content in body["contents"]]
    config = {}
    if "systemInstruction" in body:
        config["system_instruction"] = types.Content.model_validate_json(json.dumps(body["systemInstruction"]))
    if "tools" in body:
        config["tools"] = [types.Tool.model_validate_json(json.dumps(tool)) for tool in body["tools"]]
    config = types.GenerateContentConfig(**config)
    return GEMINI.models.generate_content(model=model, contents=contents, config=config).text


SENDERS = {"openai": chat, "openai-responses": responses, "anthropic": messages, "gemini": generate}
PATHS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{}:generateContent",
}
PACKAGES = ["openai", "anthropic", "google-genai"]

def by_sdk(request):
    """Returns why a request was refused, or nothing, and whether it got to the provider."""
    n_before = len(PROVIDER.asked)
    body = {key: value for key, value in request["body"].items() if key != "model"}
    try:
        said = SENDERS[request["dialect"]](request["model"], body)
    except Exception as error:  # whatever an SDK raises is a refusal
        return f"{type(error).__name__}: {error}", len(PROVIDER.asked) > n_before
    return None if said == server.WORD else f"the answer was read as {said!r}", True


def by_hand(dialect, model, body):
    """Sends what an SDK would not let through; returns why it was refused, or nothing."""
    url = BASE + PATHS[dialect].format(model)
    headers = {"content-type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        opener.open(asked).read()
    except urllib.error.HTTPError as error:
        return str(json.load(error)["error"]["message"])
    return None


def plain(value, key=""):
    """What two bodies are compared by: bytes as they are, without keys that say nothing."""
    if isinstance(value, dict):
        return {key: plain(inner, key) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if key in ("data", "thoughtSignature") and isinstance(value, str):
        return base64.b64decode(value.replace("-", "+").replace("_", "/") + "==")
    return value


def is_changed(request):
    """Whether what came is not what the dialect's request says."""
    came = PROVIDER.asked[-1][2]
    return any(plain(came.get(key), key) != plain(value, key) for key, value in request["body"].items() if key != "model")


def main(path):
    counts = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        requests = [json.loads(line) for line in lines]
    for request in requests:
        why, is_there = by_sdk(request)
        name, dialect, kind = request["name"], request["dialect"], request["kind"]
        counts[f"{dialect}/{kind}"] += 1
        if request["is_refused"]:
            counts[f"{dialect}/refused by {'the server' if is_there else 'the SDK'}"] += why is not None
        if bool(why) != request["is_refused"]:
            finding(name, dialect, why or "taken, although it breaks a rule")
        elif why is None and is_changed(request):
            finding(name, dialect, "what came differs from what was encoded")
    for path in PROVIDER.strays:
        finding("a path", "any", f"{path} is none that was expected")
    for name, dialect, word, body in spoiled.all_of({each["dialect"]: each for each in requests if each["name"] == "made"}):
        why = by_hand(dialect, "m", body)
        counts[f"{dialect}/spoiled"] += 1
        if why is None or f": {word}: " not in why:
            finding(name, dialect, f"{word!r} was expected, and it said {why!r}")
    print(json.dumps({"versions": {name: version(name) for name in PACKAGES}, "counts": counts}))


def finding(name, dialect, what):
    print(json.dumps({"finding": f"{name} [{dialect}]: {what}"}))


if __name__ == "__main__":
    main(sys.argv[1])

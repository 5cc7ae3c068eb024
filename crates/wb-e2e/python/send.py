"""Sends requests by the official SDKs to the provider at an address, and prints what came of each.

usage: python send.py ADDRESS

The versions of the SDKs go to standard output first. Then each line of standard input is `{"dialect", "model", "body"}`,
and answered by a line, `{"text"}` or `{"why"}`. An SDK may refuse what its types do not accept.
"""

import json
import sys
from importlib.metadata import version

import anthropic
import openai
from google import genai
from google.genai import types

BASE = sys.argv[1]
# Answers are validated against the types of the SDK too.
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
    """The SDK converts the wire's JSON to its own types: bytes come from base64, and unknown keys fail."""
    contents = [types.Content.model_validate_json(json.dumps(content)) for content in body["contents"]]
    config = {}
    if "systemInstruction" in body:
        config["system_instruction"] = types.Content.model_validate_json(json.dumps(body["systemInstruction"]))
    if "tools" in body:
        config["tools"] = [types.Tool.model_validate_json(json.dumps(tool)) for tool in body["tools"]]
    config = types.GenerateContentConfig(**config)
    return GEMINI.models.generate_content(model=model, contents=contents, config=config).text


SENDERS = {"openai": chat, "openai-responses": responses, "anthropic": messages, "gemini": generate}
PACKAGES = ["openai", "anthropic", "google-genai"]


def answer(request):
    body = {key: value for key, value in request["body"].items() if key != "model"}
    try:
        return {"text": SENDERS[request["dialect"]](request["model"], body)}
    except Exception as error:  # whatever an SDK raises is a refusal
        return {"why": f"{type(error).__name__}: {error}"}


print(json.dumps({name: version(name) for name in PACKAGES}), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)

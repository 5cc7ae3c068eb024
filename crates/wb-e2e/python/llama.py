"""A real inference server: llama.cpp's, with a tiny model whose weights are chance.

usage: python llama.py FOLDER

Writes FOLDER/tiny.gguf, starts the server on a free port and prints its address; it ends with standard input. The format is described
at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import os
import random
import struct
import sys

SEED = 20260101
N_EMBD, N_HEAD, N_LAYER, N_FF, N_CTX = 32, 2, 1, 64, 65536
U32, F32, STRING, ARRAY, BOOL, I32 = 4, 6, 8, 9, 7, 5
TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}</s>{% endfor %}<|assistant|>"
ALIGNMENT = 32


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, data):
    return text(key) + struct.pack("<I", kind) + data


def array(key, kind, items):
    return pair(key, ARRAY, struct.pack("<IQ", kind, len(items)) + b"".join(items))


def number(key, value):
    return pair(key, U32, struct.pack("<I", value))


def vocabulary():
    """The special tokens, all bytes, and a few words: kinds are unknown 2, control 3, byte 6 and normal 1."""
    tokens = [("<unk>", 2), ("<s>", 3), ("</s>", 3)]
    tokens += [(f"<0x{byte:02X}>", 6) for byte in range(256)]
    tokens += [(chr(code), 1) for code in range(33, 127)] + [("▁", 1)]
    return tokens


def metadata(tokens):
    arch = "llama"
    return [
        pair("general.architecture", STRING, text(arch)),
        pair("general.name", STRING, text("tiny")),
        number(f"{arch}.context_length", N_CTX),
        number(f"{arch}.embedding_length", N_EMBD),
        number(f"{arch}.block_count", N_LAYER),
        number(f"{arch}.feed_forward_length", N_FF),
        number(f"{arch}.attention.head_count", N_HEAD),
        number(f"{arch}.attention.head_count_kv", N_HEAD),
        number(f"{arch}.rope.dimension_count", N_EMBD // N_HEAD),
        number(f"{arch}.vocab_size", len(tokens)),
        pair(f"{arch}.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)),
        pair("tokenizer.ggml.model", STRING, text("llama")),
        array("tokenizer.ggml.tokens", STRING, [text(token) for token, _ in tokens]),
        array("tokenizer.ggml.scores", F32, [struct.pack("<f", -float(nth)) for nth in range(len(tokens))]),
        array("tokenizer.ggml.token_type", I32, [struct.pack("<i", kind) for _, kind in tokens]),
        number("tokenizer.ggml.unknown_token_id", 0),
        number("tokenizer.ggml.bos_token_id", 1),
        number("tokenizer.ggml.eos_token_id", 2),
        pair("tokenizer.chat_template", STRING, text(TEMPLATE)),
    ]


def tensors(n_vocab):
    """Names and shapes, the fastest dimension first."""
    yield "token_embd.weight", [N_EMBD, n_vocab]
    yield "output_norm.weight", [N_EMBD]
    yield "output.weight", [N_EMBD, n_vocab]
    for layer in range(N_LAYER):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{name}.weight", [N_EMBD, N_EMBD]
        for name, shape in (("ffn_gate", [N_EMBD, N_FF]), ("ffn_up", [N_EMBD, N_FF]), ("ffn_down", [N_FF, N_EMBD])):
            yield f"blk.{layer}.{name}.weight", shape
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", [N_EMBD]


def model():
    chance = random.Random(SEED)
    tokens = vocabulary()
    pairs = metadata(tokens)
    infos, blobs, offset = [], [], 0
    for name, shape in tensors(len(tokens)):
        n = 1
        for size in shape:
            n *= size
        values = [1.0] * n if "norm" in name else [chance.gauss(0, 0.5) for _ in range(n)]
        blob = struct.pack(f"<{n}f", *values)
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset))
        blobs.append(blob + bytes(-len(blob) % ALIGNMENT))
        offset += len(blobs[-1])
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pairs) + b"".join(infos)
    return head + bytes(-len(head) % ALIGNMENT) + b"".join(blobs)


def main(folder):
    import xllamacpp

    path = os.path.join(folder, "tiny.gguf")
    with open(path, "wb") as file:
        file.write(model())
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {"tiny"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = N_CTX
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.warmup = False
    params.offline = True
    params.cpuparams.n_threads = 2
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # The server's threads need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])

"""Runs the suites of peers against `wb compact` and prints what was kept, as JSON.

Usage: peers.py WB. Needs compaction-conformance-kit, and conpact for its list of constraints.
"""

import importlib.metadata
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from compaction_kit.compacted import CompactedContext
from compaction_kit.compactors import (
    ChecklistCompactor,
    LossyTruncationCompactor,
    NaiveSummaryCompactor,
    PinnedRulesCompactor,
    SummaryTailCompactor,
)
from compaction_kit.corpus import build_random_session
from compaction_kit.runner import run_conformance
from compaction_kit.semantic_corpus import build_semantic_heldout_session, build_semantic_session

WB = sys.argv[1]
WINDOWS = (200_000, 64_000, 32_000)
ROUNDS = (1, 2, 3, 5, 10)
BUDGETS = (0.1, 0.2, 0.3)
SEMANTIC = {"semantic": build_semantic_session, "semantic, held out": build_semantic_heldout_session}
UPDATED = " (updated later)"
KEEPS_LABELS = {"checklist": ChecklistCompactor, "pinned-rules": PinnedRulesCompactor}
KNOWS_NOTHING = {
    "lossy-truncation": LossyTruncationCompactor,
    "naive-summary": NaiveSummaryCompactor,
    "summary-tail": SummaryTailCompactor,
}


def wb(messages, *options):
    """Returns the messages that `wb compact` writes, or the same ones if it leaves them alone."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "in.json"), os.path.join(folder, "out.json")
        with open(source, "w") as file:
            json.dump({"model": "gpt-4o", "messages": messages}, file)
        command = [WB, "compact", source, "--quiet", "-o", out, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
        with open(out) as file:
            return json.load(file)["messages"]


def text_of(messages):
    def body(message):
        content = message["content"]
        return content if isinstance(content, str) else json.dumps(message.get("tool_calls"))

    return "\n".join(f"[{message['role']}] {body(message)}" for message in messages)


class Talk:
    """A session of real size: each request is followed by tool calls with long results."""

    def __init__(self, seed):
        self.random, self.messages, self.n_calls = random.Random(seed), [], 0

    def say(self, role, text):
        self.messages.append({"role": role, "content": text})

    def work(self, n_calls):
        for _ in range(n_calls):
            self.n_calls += 1
            arguments = json.dumps({"path": f"lib/part_{self.n_calls % 41}.py"})
            function = {"name": "read", "arguments": arguments}
            call = {"id": f"call-{self.n_calls}", "type": "function", "function": function}
            self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            rows = (f"{row}: total_{self.random.randrange(10**6)} = {self.random.random():.6f}" for row in range(50))
            result = {"role": "tool", "tool_call_id": call["id"], "content": "\n".join(rows)}
            self.messages.append(result)

    def play(self, session, n_calls):
        for turn in session.turns:
            self.say(turn.role, turn.text)
            if turn.role == "user":
                self.work(n_calls)

    def more(self, label):
        for step in range(12):
            self.say("user", f"Part {label}-{step}: go on with part {self.random.randrange(99)}.")
            self.work(3)
            self.say("assistant", "That part is done.")


def holds(text, canary):
    return all(token.lower() in text.lower() for token in canary.required_tokens)


def chained(window):
    """The kit's statements after one to ten compactions, by type."""
    kept = {}
    for seed in range(1, 5):
        session, canaries = build_random_session(seed)
        talk = Talk(seed)
        talk.play(session, 2)
        for n in range(1, max(ROUNDS) + 1):
            talk.messages = wb(talk.messages, "--force", "--window", str(window))
            text = text_of(talk.messages)
            for canary in canaries:
                kept.setdefault((n, canary.type.value), []).append(holds(text, canary))
            talk.more(n)
    share = lambda values: 100 * sum(values) / len(values)
    types = sorted({kind for _, kind in kept})
    return [{"window": window, "type": kind, **{str(n): share(kept[n, kind]) for n in ROUNDS}} for kind in types]


def constraint_texts():
    """The constraints of the COMPINT paper; the package itself would import the client of a model."""
    path = importlib.metadata.distribution("conpact").locate_file("conpact/constraints.py")
    spec = importlib.util.spec_from_file_location("constraints", str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [constraint["sc"] for constraint in module.SCS]


def constraints(window):
    """Constraints at three places of a session that still hold, word for word."""
    rows = []
    for place, at in (("top", 0), ("middle", 15), ("bottom", 27)):
        kept = {n: 0 for n in (1, 5, 10)}
        texts = constraint_texts()
        for seed, constraint in enumerate(texts):
            talk = Talk(seed)
            for step in range(30):
                request = f"Why is the total of part {step} off? Look into part {talk.random.randrange(99)}."
                talk.say("user", f"{constraint} {request}" if step == at else request)
                talk.work(4)
                talk.say("assistant", f"The total of part {step} is off by the rounding.")
            for n in range(1, 11):
                talk.messages = wb(talk.messages, "--force", "--window", str(window))
                words = " ".join(text_of(talk.messages).lower().split())
                if n in kept:
                    kept[n] += " ".join(constraint.lower().split()) in words
                talk.more(n)
        rows.append({"window": window, "place": place, "of": len(texts), **{str(n): k for n, k in kept.items()}})
    return rows


class WindowBudget:
    """`wb` as a compactor of the kit: `--target` for a budget, else `--force`."""

    name = "window-budget"

    def __init__(self):
        self.messages = None

    def compact(self, turns, round_num=1, budget_chars=None):
        if self.messages is None:
            role = lambda turn: "user" if turn.role == "tool" else turn.role
            self.messages = [{"role": role(turn), "content": turn.text} for turn in turns]
        if budget_chars is None:
            self.messages = wb(self.messages, "--force")
        else:
            size = len(text_of(self.messages))
            for percent in range(99, 0, -3):
                share = 100 * budget_chars / size * percent / 100
                if share >= 100:
                    break
                shorter = wb(self.messages, "--target", f"{share:.2f}%")
                if len(text_of(shorter)) <= budget_chars:
                    self.messages = shorter
                    break
        return CompactedContext(text=text_of(self.messages), compactor_name=self.name, round_num=round_num)


def short_chats(name, factory, budget):
    """The kit's own short chats: what is kept after one and five rounds, and the size."""
    kept, sizes, fits = [], [], True
    for seed in range(1, 5):
        session, canaries = build_random_session(seed)
        run = run_conformance(session, factory(), rounds=5, canaries=canaries, budget_fraction=budget)
        last = run.rounds[-1]
        kept += [bool(value) for value in last.survived.values()]
        sizes.append(last.output_chars / len(session.full_text()))
        fits &= all(result.within_budget for result in run.rounds)
    budget = "none" if budget is None else f"{budget:.0%}"
    percent = lambda values: 100 * sum(values) / len(values)
    return {"budget": budget, "compactor": name, "kept": percent(kept), "size": percent(sizes), "fits": fits}


def updates():
    """Statements that a later one replaces: is the latest there, and is any of them marked as replaced?"""
    rows = []
    for name, build in SEMANTIC.items():
        n = latest = unmarked = wrong = 0
        for seed in range(1, 9):
            session, canaries, meta = build(seed)
            talk = Talk(seed)
            talk.play(session, 2)
            text = text_of(wb(talk.messages, "--force", "--window", "128000")).lower()
            marked = [line for line in text.splitlines() if UPDATED in line]
            plain = [line for line in text.splitlines() if UPDATED not in line]
            has_old = lambda line, it: any(token.lower() in line for token in it.superseded_tokens)
            for canary in (it for it in canaries if it.id in meta["conflicts"]):
                n += 1
                latest += holds(text, canary)
                unmarked += any(has_old(line, canary) for line in plain)
            wrong += sum(not any(has_old(line, it) for it in canaries) for line in marked)
        rows.append({"set": name, "n": n, "latest": latest, "unmarked": unmarked, "wrong": wrong})
    return rows


def main():
    compactors = {"window-budget": WindowBudget, **KNOWS_NOTHING, **KEEPS_LABELS}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        chains = [pool.submit(chained, window) for window in WINDOWS]
        rules = [pool.submit(constraints, window) for window in WINDOWS]
        chats = [
            pool.submit(short_chats, name, factory, budget)
            for budget in (None, *BUDGETS)
            for name, factory in compactors.items()
        ]
        replaced = pool.submit(updates)
        rows = lambda futures: [row for future in futures for row in future.result()]
        found = {
            "chained": rows(chains),
            "constraints": rows(rules),
            "short_chats": [future.result() for future in chats],
            "updates": replaced.result(),
        }
    json.dump(found, sys.stdout)


main()

// A function of the caller that writes the digests: the rounds between it and the core.
import { WindowBudgetError } from "./errors.js";

const HINT = "return a text, or { cut_off: text } for a reply that reached its limit";

/** Takes steps until the core has no request. */
export function run(step, summarizer, progress) {
  const watcher = watching(progress);
  if (summarizer === undefined) return step(undefined, watcher);
  const rounds = new Rounds(summarizer);
  for (;;) {
    const result = step(rounds.option, watcher);
    if (!result.request) return result;
    rounds.reply(result.request);
  }
}

/** Takes steps as run() does, for a summarizer that may be async. */
export async function runAsync(step, summarizer, progress) {
  const watcher = watching(progress);
  if (summarizer === undefined) return step(undefined, watcher);
  const rounds = new Rounds(summarizer);
  for (;;) {
    const result = step(rounds.option, watcher);
    if (!result.request) return result;
    await rounds.replyAsync(result.request);
  }
}

function watching(progress) {
  return progress && { report: (stage) => void progress(JSON.parse(stage)) };
}

/** The replies of a summarizer in one compaction. An error of it is a reply, too. */
class Rounds {
  #ask;
  #settings;
  #replies = [];

  constructor(summarizer) {
    const { ask, ...settings } = typeof summarizer === "function" ? { ask: summarizer } : summarizer;
    if (typeof ask !== "function") {
      throw wrong(`the summarizer is a ${typeof ask}`, "pass a function that takes a request");
    }
    this.#ask = ask;
    this.#settings = settings;
  }

  get option() {
    return { ...this.#settings, replies: this.#replies };
  }

  reply(request) {
    let reply;
    try {
      reply = this.#ask(asked(request));
    } catch (error) {
      return this.#failed(error);
    }
    if (typeof reply?.then === "function") {
      reply.then(undefined, () => {});
      throw wrong("the summarizer is async", "await compactAsync");
    }
    this.#replied(reply);
  }

  async replyAsync(request) {
    let reply;
    try {
      reply = await this.#ask(asked(request));
    } catch (error) {
      return this.#failed(error);
    }
    this.#replied(reply);
  }

  #failed(error) {
    this.#replies.push({ error: String(error) });
  }

  #replied(reply) {
    if (typeof reply === "string") return void this.#replies.push({ text: reply });
    const [[key, text] = [], ...others] = Object.entries(reply ?? {});
    const isText = key === "text" || key === "cut_off";
    if (!isText || typeof text !== "string" || others.length > 0) {
      throw wrong(`the summarizer returned ${reply === null ? "null" : typeof reply}`, HINT);
    }
    this.#replies.push(reply);
  }
}

function asked(request) {
  const messages = [
    { role: "system", content: request.system },
    { role: "user", content: request.prompt },
  ];
  return { ...request, messages };
}

function wrong(message, hint) {
  return new WindowBudgetError({ kind: "call", message, hint });
}

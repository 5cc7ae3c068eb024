// The calls of `wb api` as functions.
import { NativeContext, call as nativeCall } from "../pkg/window_budget_wasm.js";
import { WindowBudgetError } from "./errors.js";
import { run, runAsync } from "./summarizer.js";

export { WindowBudgetError };

/** Carries out any call and returns its result. */
export function call(operation, fields = {}) {
  return result(nativeCall(JSON.stringify({ operation, ...fields })));
}

function result(text) {
  const answer = JSON.parse(text);
  if (answer.error) throw new WindowBudgetError(answer.error);
  return answer.result;
}

function input(messages, { format, ...options } = {}) {
  const key = typeof messages === "string" ? "session" : Array.isArray(messages) ? "messages" : "body";
  return { [key]: messages, format, options };
}

function output({ messages, body, session }) {
  return messages ?? body ?? session ?? null;
}

/** Weighs messages: tokens, limit, over_budget and more. */
export function weigh(messages, options) {
  return call("weigh", input(messages, options));
}

/**
 * Compacts messages that are over budget, or to about target_tokens. If the summarizer throws, the
 * digest is local, and the report is degraded, with the reason.
 */
export function compact(messages, { summarizer, progress, ...options } = {}) {
  return compaction(run(compactStep(messages, options), summarizer, progress));
}

/** Compacts as compact() does; the summarizer may be async. */
export async function compactAsync(messages, { summarizer, progress, ...options } = {}) {
  return compaction(await runAsync(compactStep(messages, options), summarizer, progress));
}

function compactStep(messages, options) {
  const fields = input(messages, options);
  return (summarizer, watcher) => {
    const all = { ...fields, options: { ...fields.options, summarizer } };
    return result(nativeCall(JSON.stringify({ operation: "compact", ...all }), watcher));
  };
}

function compaction(done) {
  return { messages: output(done), report: done.report };
}

/** Returns the facts of messages: requests, constraints, tasks, files, failures, decisions. */
export function facts(messages, options) {
  return call("facts", input(messages, options));
}

/** Checks a summary against the messages that it replaces; returns what is wrong or missing. */
export function audit(messages, summary, options) {
  return call("audit", { ...input(messages, options), summary });
}

/** Returns what a provider would refuse. */
export function validate(messages, { dialects = [], ...options } = {}) {
  return call("validate", { ...input(messages, options), dialects }).violations;
}

/** Repairs what a provider would refuse. */
export function repair(messages, options) {
  const done = call("repair", input(messages, options));
  return { messages: output(done), fixed: done.fixed, left: done.left };
}

/** Writes messages in another format: a request as an object, a session as text. */
export function convert(messages, to, options) {
  const done = call("convert", { ...input(messages, options), to });
  return { output: output(done), lost: done.lost, violations: done.violations };
}

/** Looks up words, or a message, file, command or turn; returns excerpts as a tool does. */
export function recall(messages, question, options) {
  const asked = typeof question === "string" ? { query: question } : question;
  return call("recall", { ...input(messages, options), question: asked }).text;
}

/** The messages of a loop: they are remembered across compactions, which can be undone. */
export class Context {
  #native;
  #settings;
  #summarizer;
  #progress;

  constructor({ format, summarizer, progress, ...options } = {}) {
    compact([], { format, summarizer });
    this.#summarizer = summarizer;
    this.#progress = progress;
    this.#settings = { format, options };
    this.#native = this.#explained([], () => new NativeContext(JSON.stringify(this.#settings)));
  }

  push(...messages) {
    this.#explained(messages, () => this.#native.push(JSON.stringify(messages)));
  }

  get messages() {
    return JSON.parse(this.#native.messages());
  }

  gate() {
    return result(this.#native.gate());
  }

  compact() {
    return run(this.#step(), this.#summarizer, this.#progress).report;
  }

  async compactAsync() {
    return (await runAsync(this.#step(), this.#summarizer, this.#progress)).report;
  }

  undo() {
    return this.#native.undo();
  }

  #step() {
    const compaction = this.#native.begin();
    return (summarizer, watcher) => result(compaction.step(summarizer && JSON.stringify(summarizer), watcher));
  }

  // An error of a context is a text; a call with the same input says kind and hint, too.
  #explained(messages, act) {
    try {
      return act();
    } catch (error) {
      call("weigh", { ...this.#settings, messages });
      throw error;
    }
  }
}

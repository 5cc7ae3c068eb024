// Keeps the messages of frameworks within their window, with one Context for each conversation.
import { Context, weigh } from "window-budget";

const MAX_CONVERSATIONS = 32;

class Conversation {
  #context;
  #keys = [];
  #originals = new Map();

  constructor(settings) {
    this.#context = new Context(settings);
  }

  /** Returns how many messages are known, if a list with these keys continues this conversation. */
  overlap(keys) {
    return this.#keys.every((key, n) => key === keys[n]) ? this.#keys.length : -1;
  }

  extend(messages, records, keys) {
    const known = this.#keys.length;
    this.#context.push(...records.slice(known));
    keys.slice(known).forEach((key, n) => this.#originals.set(key, messages[known + n]));
    this.#keys = keys;
  }

  /** Returns the messages to send: what is unchanged is the framework's own object. */
  fitted(read) {
    if (this.#context.gate().over_budget) this.#context.compact();
    return this.#context.messages.map((record) => this.#originals.get(JSON.stringify(record)) ?? read(record));
  }
}

/** Fits the lists of messages of conversations, which grow from call to call. */
export class Fitter {
  #settings;
  #codec;
  #conversations = [];

  /** The codec writes messages as records of its format, and reads records that are new. */
  constructor({ format, write = (message) => message, read = (record) => record }, options) {
    this.#settings = { format, ...options };
    this.#codec = { write, read };
  }

  /** Returns the messages to send; `outside` is what is sent in addition, such as tools. */
  fit(messages, outside) {
    const records = messages.map(this.#codec.write);
    const keys = records.map((record) => JSON.stringify(record));
    const conversation = this.#continued(keys) ?? new Conversation(this.#overhead(outside));
    conversation.extend(messages, records, keys);
    this.#remember(conversation);
    return conversation.fitted(this.#codec.read);
  }

  #continued(keys) {
    const known = this.#conversations.map((conversation) => conversation.overlap(keys));
    return this.#conversations[known.indexOf(Math.max(0, ...known))];
  }

  #remember(conversation) {
    const others = this.#conversations.filter((other) => other !== conversation);
    this.#conversations = [conversation, ...others].slice(0, MAX_CONVERSATIONS);
  }

  #overhead(outside) {
    if (outside === undefined || "overhead_tokens" in this.#settings) return this.#settings;
    const content = JSON.stringify(outside);
    const { tokens } = weigh([{ role: "user", content }], { ...this.#settings, format: "openai-chat" });
    return { ...this.#settings, overhead_tokens: tokens };
  }
}

import type {
  Call, ErrorKind, FactList, ModelRequest, Operation, Options, Progress, Report, Target, Weighed,
} from "./schema.js";

export type {
  Call, ErrorKind, FactList, ModelReply, ModelRequest, Operation, Options, Progress, Report, Strategy,
  SummarizerOptions, Target, Weighed,
} from "./schema.js";

/** A list of messages, a whole request, or the text of a session file. */
export type Input = readonly object[] | object | string;

/** What an operation returns for its input, or null where it stays as it is. */
export type Output<I extends Input> = (I extends readonly (infer M)[] ? M[] : I extends string ? string : I) | null;

/** The options of a call, and the format of its input: detected without it. */
export interface CallOptions extends Omit<Options, "summarizer"> {
  format?: string;
}

/** A text, or one that reached its limit. */
export type Reply = string | { text: string } | { cut_off: string };

/** A request to a summarizer, also as messages of Chat Completions. */
export type SummarizerRequest = ModelRequest & { messages: { role: "system" | "user"; content: string }[] };

/** A function that writes digests, alone or with the window of its model and the user's instructions. */
export type Summarizer<R extends Reply | Promise<Reply> = Reply> =
  | ((request: SummarizerRequest) => R)
  | { ask: (request: SummarizerRequest) => R; window?: number; instructions?: string };

/** The options of a compaction. */
export interface CompactOptions<R extends Reply | Promise<Reply> = Reply> extends CallOptions {
  summarizer?: Summarizer<R>;
  /** Receives each stage. */
  progress?: (stage: Progress) => void;
}

/** Something that a provider would refuse. */
export interface Violation {
  dialect: string;
  rule: string;
  message: number;
  at?: string;
  what: string;
  fix: string;
  source: string;
  [key: string]: unknown;
}

/** A statement of a summary that is wrong, or a constraint that it misses. */
export interface Finding {
  kind: string;
  line: number;
  text: string;
  why: string;
  message?: number;
}

/** What to look up: exactly one of query, message, file, command and turn. */
export interface Question {
  query?: string;
  message?: number;
  file?: string;
  command?: string;
  turn?: number;
  line?: number;
  max_tokens?: number;
}

/** A call that has no result. */
export class WindowBudgetError extends Error {
  readonly name: "WindowBudgetError";
  readonly kind: ErrorKind;
  readonly hint: string;
  constructor(error: { kind: ErrorKind; message: string; hint: string });
}

/**
 * Loads the module in browsers and on edge runtimes: from next to the code, or from the given
 * address, response, bytes or module. Elsewhere nothing is left to load.
 */
export function load(module?: string | object): Promise<void>;

/** Carries out any call and returns its result. */
export function call(operation: Operation, fields?: Omit<Call, "operation">): unknown;

/** Weighs messages: tokens, limit, over_budget and more. */
export function weigh(messages: Input, options?: CallOptions): Weighed;

/**
 * Compacts messages that are over budget, or to about target_tokens. If the summarizer throws, the
 * digest is local, and the report is degraded, with the reason.
 */
export function compact<I extends Input>(
  messages: I,
  options?: CompactOptions,
): { messages: Output<I>; report: Report };

/** Compacts as compact() does; the summarizer may be async. */
export function compactAsync<I extends Input>(
  messages: I,
  options?: CompactOptions<Reply | Promise<Reply>>,
): Promise<{ messages: Output<I>; report: Report }>;

/** Returns the facts of messages: requests, constraints, tasks, files, failures, decisions. */
export function facts(messages: Input, options?: CallOptions): FactList;

/** Checks a summary against the messages that it replaces; returns what is wrong or missing. */
export function audit(messages: Input, summary: string, options?: CallOptions): Finding[];

/** Returns what a provider would refuse. */
export function validate(messages: Input, options?: CallOptions & { dialects?: string[] }): Violation[];

/** Repairs what a provider would refuse. */
export function repair<I extends Input>(
  messages: I,
  options?: CallOptions,
): { messages: Output<I>; fixed: Record<string, unknown>[]; left: Violation[] };

/** Writes messages in another format: a request as an object, a session as text. */
export function convert(
  messages: Input,
  to: Target,
  options?: CallOptions,
): { output: object | string | null; lost: string[]; violations: Violation[] };

/** Looks up words, or a message, file, command or turn; returns excerpts as a tool does. */
export function recall(messages: Input, question: string | Question, options?: CallOptions): string;

/** The messages of a loop: they are remembered across compactions, which can be undone. */
export class Context<M extends object = Record<string, unknown>> {
  constructor(options?: CompactOptions<Reply | Promise<Reply>>);
  /** Adds messages. */
  push(...messages: M[]): void;
  /** The messages to send. */
  get messages(): M[];
  /** Weighs the messages and counts the compactions. */
  gate(): Weighed & { compactions: number };
  /** Compacts the messages if they are over budget. */
  compact(): Report;
  /** Compacts as compact() does; the summarizer may be async, and messages may be added meanwhile. */
  compactAsync(): Promise<Report>;
  /** Takes the last compaction back; returns whether there was one. */
  undo(): boolean;
}

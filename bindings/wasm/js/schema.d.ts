// Written by scripts/types.mjs from docs/reference/api.schema.json.

/**
 * An operation of the surface.
 */
export type Operation =
  "weigh" | "compact" | "facts" | "audit" | "validate" | "repair" | "convert" | "recall";
/**
 * A compaction strategy.
 */
export type Strategy = "window-budget" | "three-level" | "policy" | "ladder";
/**
 * The format that a conversion writes.
 */
export type Target =
  | "native"
  | "anthropic"
  | "openai"
  | "openai-responses"
  | "gemini"
  | "claude-code"
  | "codex"
  | "pi";
/**
 * The kind of a mistake.
 */
export type ErrorKind = "call" | "input" | "option" | "not_expressible" | "refused";

/**
 * A call: an operation, one of `messages`, `body` and `session`, and options.
 */
export interface Call {
  /**
   * The version of the call, 1 without it.
   */
  version?: number;
  operation: Operation;
  /**
   * The format of the input, as `wb formats` lists them; detected without it.
   */
  format?: string | null;
  /**
   * A list of messages, as a request of the format has it.
   */
  messages?:
    | {
        [k: string]: unknown;
      }[]
    | null;
  /**
   * A whole request.
   */
  body?: {
    [k: string]: unknown;
  } | null;
  /**
   * The text of a session file.
   */
  session?: string | null;
  options?: Options;
  /**
   * The summary that `audit` checks.
   */
  summary?: string | null;
  /**
   * The format that `convert` writes.
   */
  to?: Target | null;
  /**
   * The rules that `validate` applies; those of the format without it.
   */
  dialects?: string[];
  /**
   * The question of `recall`: one of `query`, `message`, `file`, `command`, `turn`, with `line`
   * and `max_tokens`.
   */
  question?: {
    [k: string]: unknown;
  } | null;
}
/**
 * The options of a call; the defaults are those of the command `wb`.
 */
export interface Options {
  /**
   * The model, for its window and its tokenizer; the input's without it.
   */
  model?: string | null;
  /**
   * The context window in tokens; the model's without it.
   */
  window?: number | null;
  /**
   * The tokens that the resulting messages should weigh.
   */
  target_tokens?: number | null;
  /**
   * The tokens of what is sent outside of `messages`: system prompt and tools.
   */
  overhead_tokens?: number;
  /**
   * The fraction of the usable window at which to compact.
   */
  trigger_ratio?: number | null;
  /**
   * The tokens of the recent tail to keep verbatim.
   */
  keep_recent_tokens?: number | null;
  /**
   * The tokens to reserve for the answer.
   */
  reserve_tokens?: number | null;
  /**
   * Compacts messages that are within their budget, too.
   */
  force?: boolean;
  strategy?: Strategy;
  /**
   * The treatment of old images.
   */
  images?: string | null;
  /**
   * Keeps passwords, keys and tokens in the digest.
   */
  no_redact?: boolean;
  /**
   * The tool with which the model looks up what is folded.
   */
  recall_tool?: string | null;
  /**
   * The time in milliseconds since 1970, for formats that note it.
   */
  now_ms?: number;
  /**
   * A number that no other call has, for formats with ids.
   */
  seed?: number;
  /**
   * The working folder of a new session.
   */
  folder?: string | null;
}
/**
 * The weight of the messages.
 */
export interface Weighed {
  format: string;
  model?: string | null;
  messages: number;
  tokens: number;
  window: number;
  window_from: string;
  limit: number;
  over_budget: boolean;
  anchored: boolean;
  by_kind: {
    [k: string]: number;
  };
  overhead: number;
  notes: string[];
}
/**
 * The figures of a compaction.
 */
export interface Report {
  format: string;
  changed: boolean;
  /**
   * The reason why nothing changed, or the result is not as was asked for.
   */
  reason?: string | null;
  messages_before: number;
  messages_after: number;
  tokens_before: number;
  tokens_after: number;
  message_tokens_before: number;
  message_tokens_after: number;
  cut: number;
  cleared: number;
  shortened: number;
  restored_paths: string[];
  digest?: string | null;
  digest_tokens: number;
  redacted: number;
  window: number;
  window_from: string;
  limit: number;
  target?: number | null;
  irreducible: boolean;
  anchored: boolean;
  overhead: number;
  strategy: string;
  steps: string[];
  notes: string[];
}
/**
 * The facts of the messages.
 */
export interface FactList {
  messages: number;
  partial: boolean;
  requests: unknown[];
  constraints: unknown[];
  tasks: unknown[];
  files: unknown[];
  failures: unknown[];
  decided: unknown[];
  git: unknown[];
}

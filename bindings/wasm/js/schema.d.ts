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
 * A reply of the caller's model.
 */
export type ModelReply =
  | {
      text: string;
    }
  | {
      cut_off: string;
    }
  | {
      error: string;
    };
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
 * A stage of a compaction, with its figures.
 */
export type Progress =
  | {
      stage: "counted";
      /**
       * The number of messages.
       */
      messages: number;
      /**
       * The tokens of the context.
       */
      tokens: number;
      /**
       * The size in tokens above which the messages are over budget.
       */
      limit: number;
    }
  | {
      stage: "cut";
      /**
       * The index of the first message that stays; none if no digest is written.
       */
      cut?: number | null;
      /**
       * The tokens of the messages after the change, at most.
       */
      message_tokens: number;
    }
  | {
      stage: "asking";
      /**
       * The number of the request, from 1.
       */
      request: number;
      /**
       * The estimated tokens of the request.
       */
      prompt_tokens: number;
      /**
       * The most tokens of a reply.
       */
      max_output_tokens: number;
    }
  | {
      stage: "applied";
      /**
       * The number of messages.
       */
      messages: number;
      /**
       * The tokens of the context.
       */
      tokens: number;
    }
  | {
      stage: "unchanged";
      /**
       * The reason.
       */
      reason?: string | null;
    };

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
   * The caller's model, which writes the digest of `compact`.
   */
  summarizer?: SummarizerOptions | null;
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
 * A model that the caller asks.
 *
 * The result of a call may be a `request` to it: the same call with the reply added goes on. A
 * model that fails is replaced by the local digest.
 */
export interface SummarizerOptions {
  /**
   * The window of the model in tokens; that of the messages without it.
   */
  window?: number | null;
  /**
   * Instructions to the model about the contents of the digest.
   */
  instructions?: string | null;
  /**
   * The replies to the requests so far, in order.
   */
  replies?: ModelReply[];
}
/**
 * The weight of the messages.
 */
export interface Weighed {
  /**
   * The format.
   */
  format: string;
  /**
   * The model, if the input or the options name one.
   */
  model?: string | null;
  /**
   * The number of messages.
   */
  messages: number;
  /**
   * The tokens of the context.
   */
  tokens: number;
  /**
   * The context window in tokens.
   */
  window: number;
  window_from: string;
  /**
   * The size in tokens above which the messages are over budget.
   */
  limit: number;
  /**
   * Indicates that they are.
   */
  over_budget: boolean;
  anchored: boolean;
  /**
   * The tokens by kind of message.
   */
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
  /**
   * Indicates that messages changed.
   */
  changed: boolean;
  /**
   * The reason why nothing changed, or the result is not as was asked for.
   */
  reason?: string | null;
  messages_before: number;
  messages_after: number;
  /**
   * The tokens of the context before.
   */
  tokens_before: number;
  /**
   * The tokens of the context after.
   */
  tokens_after: number;
  message_tokens_before: number;
  message_tokens_after: number;
  cut: number;
  cleared: number;
  shortened: number;
  restored_paths: string[];
  /**
   * The digest, if one was written.
   */
  digest?: string | null;
  /**
   * Indicates that the digest was built locally, although a model was asked for it.
   */
  degraded: boolean;
  /**
   * The number of requests to the model.
   */
  requests: number;
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
/**
 * A request to the caller's model.
 */
export interface ModelRequest {
  /**
   * The number of the request, from 1: a long head takes several.
   */
  number: number;
  /**
   * The system prompt.
   */
  system: string;
  /**
   * The user's turn.
   */
  prompt: string;
  /**
   * The estimated tokens of both.
   */
  prompt_tokens: number;
  /**
   * The most tokens of a reply.
   */
  max_output_tokens: number;
}

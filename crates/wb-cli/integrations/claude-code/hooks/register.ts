// Compacts Claude Code sessions with `wb`, without a model; falls back to its own compaction.
import type { Register } from 'claude-code';

const WB = '@WB@';
/** The name that the host gives to the tool of `.mcp.json`. */
const IS_RECALL: unknown = '@RECALL@';
const RECALL = IS_RECALL ? 'mcp__plugin_wb-compact_wb__recall' : undefined;
/** The time budget of `wb` in milliseconds, and the grace period before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;

type Use = { tool_use_id: string; tool: string; input: unknown };
type Result = { tool_use_id: string; text?: string; isError?: boolean };
type HostMessage = { role: string; text?: string; toolUses?: Use[]; toolResults?: Result[]; handle?: unknown };

/**
 * Merges the pieces of one answer, and the results of its calls: returned separately, only the
 * last call would keep its result. Drops the handles: a message with its handle would be logged
 * again before the boundary, with the old history.
 */
function mergePieces(messages: HostMessage[]): HostMessage[] {
  const all: HostMessage[] = [];
  const isResult = ({ text, toolResults = [] }: HostMessage) => toolResults.length > 0 && !text;
  for (const { handle, ...message } of messages) {
    const last = all.at(-1);
    if (last?.role === 'assistant' && message.role === 'assistant') {
      last.text = [last.text, message.text].filter(Boolean).join('\n\n');
      last.toolUses = [...(last.toolUses ?? []), ...(message.toolUses ?? [])];
    } else if (last && isResult(last) && isResult(message)) {
      last.toolResults = [...(last.toolResults ?? []), ...(message.toolResults ?? [])];
    } else {
      all.push({ ...message });
    }
  }
  return all;
}

/** Returns the messages in the format of `wb`, and the index of the source of each. */
function toWbMessages(messages: HostMessage[]) {
  const tools = new Map<string, string>();
  const converted: object[] = [];
  const owners: number[] = [];
  const add = (at: number, message: object) => { converted.push(message); owners.push(at); };
  messages.forEach(({ role, text, toolUses = [], toolResults = [] }, at) => {
    for (const { tool_use_id, text = '', isError = false } of toolResults) {
      add(at, { role: 'toolResult', toolCallId: tool_use_id, toolName: tools.get(tool_use_id) ?? '', content: text, isError });
    }
    if (role === 'assistant') {
      const calls = toolUses.map(({ tool_use_id: id, tool: name, input }) => ({ kind: 'tool_call', id, name, input }));
      toolUses.forEach(({ tool_use_id, tool }) => tools.set(tool_use_id, tool));
      add(at, { role, content: [...(text ? [{ kind: 'text', text }] : []), ...calls] });
    } else if (text || toolResults.length === 0) {
      add(at, { role: 'user', content: text ?? '' });
    }
  });
  return { converted, owners };
}

/**
 * Returns whether a running tool loop has thoughts, whose content the host does not provide. A
 * provider refuses calls without their thoughts, so such a loop is folded too.
 */
function isThinking(messages: HostMessage[]): boolean {
  const isPrompt = ({ role, text }: HostMessage) => role === 'user' && !!text;
  const isThought = ({ role, text, toolUses = [] }: HostMessage) => role === 'assistant' && !text && toolUses.length === 0;
  const underway = messages.slice(messages.findLastIndex(isPrompt) + 1);
  return !!underway.at(-1)?.toolResults?.length && underway.some(isThought);
}

export const register: Register = (on) => {
  on('session.compact', async ($, e, next) => {
    if (e.trigger === 'precompute') return next(e);
    const messages = mergePieces(e.messages);
    const { converted, owners } = toWbMessages(messages);
    const question = { version: 1, host: 'claude-code', budget_ms: BUDGET_MS, trigger: e.trigger === 'manual' ? 'manual' : 'auto',
      instructions: e.instructions, recall: RECALL, session: { messages: converted }, newest_record: e.messages[e.messages.length - 1]?.handle,
      keep_from: isThinking(e.messages) ? converted.length : undefined };
    const run = await $.process.run([WB, 'hook'], { stdin: JSON.stringify(question), timeoutMs: BUDGET_MS + GRACE_MS });
    const answer = JSON.parse(run.stdout);
    if (answer.version !== 1) return next(e);
    if (answer.action !== 'replace' || !answer.digest) return next(e);
    const kept = new Set<number>();
    for (const { start, end } of answer.keep) owners.slice(start, end).forEach((at) => kept.add(at));
    const tail = messages.filter((_, at) => kept.has(at));
    return { messages: [{ role: 'user', text: answer.digest, toolUses: [] }, ...tail],
      tokensBefore: answer.report?.tokens_before, tokensAfter: answer.report?.tokens_after };
  }).catch(($, e, next) => next(e));
};

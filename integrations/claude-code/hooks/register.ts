// Compacts sessions of Claude Code with `wb`: no request to a model, and its own way where `wb` cannot do better.
import type { Register } from 'claude-code';

const WB = '@WB@';
/** Milliseconds that `wb` may take, and those that it then has to say so before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;

type Use = { tool_use_id: string; tool: string; input: unknown };
type Result = { tool_use_id: string; text?: string; isError?: boolean };
type Told = { role: string; text?: string; toolUses?: Use[]; toolResults?: Result[]; handle?: unknown };

/**
 * Joins what one answer of the model was cut into, and the results of its calls: given back apart, only its last call
 * would keep its result. A message with its handle would be logged again before the boundary, and the old history with it.
 */
function joined(messages: Told[]): Told[] {
  const all: Told[] = [];
  const isResult = ({ text, toolResults = [] }: Told) => toolResults.length > 0 && !text;
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

/** Returns the messages in the form of `wb`, and for each the place of the one that it comes from. */
function inOurForm(messages: Told[]) {
  const tools = new Map<string, string>();
  const told: object[] = [];
  const owners: number[] = [];
  const add = (at: number, message: object) => { told.push(message); owners.push(at); };
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
  return { told, owners };
}

/**
 * Returns whether calls are underway whose thoughts are not told us, only that there were some. A provider refuses such
 * calls without them, so these are folded like all else.
 */
function isThinking(messages: Told[]): boolean {
  const isPrompt = ({ role, text }: Told) => role === 'user' && !!text;
  const isThought = ({ role, text, toolUses = [] }: Told) => role === 'assistant' && !text && toolUses.length === 0;
  const underway = messages.slice(messages.findLastIndex(isPrompt) + 1);
  return !!underway.at(-1)?.toolResults?.length && underway.some(isThought);
}

export const register: Register = (on) => {
  on('session.compact', async ($, e, next) => {
    if (e.trigger === 'precompute') return next(e);
    const messages = joined(e.messages);
    const { told, owners } = inOurForm(messages);
    const question = { version: 1, host: 'claude-code', budget_ms: BUDGET_MS, trigger: e.trigger === 'manual' ? 'manual' : 'auto',
      instructions: e.instructions, session: { messages: told }, newest_record: e.messages[e.messages.length - 1]?.handle,
      keep_from: isThinking(e.messages) ? told.length : undefined };
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

// Uses everything that the package exports; `tsc --strict` reads it.
import * as wb from "window-budget";
import type {
  CallOptions, Finding, Operation, Progress, Report, Strategy, Summarizer, Target, Violation, Weighed,
} from "window-budget";

interface ChatMessage {
  role: "user" | "assistant";
  content: string;
}

const messages: ChatMessage[] = [{ role: "user", content: "List the files." }];
const strategy: Strategy = "ladder";
const options: CallOptions = { format: "openai-chat", window: 32_000, strategy };

await wb.load();

const weighed: Weighed = wb.weigh(messages, options);
const over: boolean = weighed.over_budget;

const list: ChatMessage[] | null = wb.compact(messages, options).messages;
const body: { messages: ChatMessage[] } | null = wb.compact({ messages }, options).messages;
const session: string | null = wb.compact("{}", { target_tokens: 2000 }).messages;
const report: Report = wb.compact(messages, options).report;

const summarize: Summarizer = ({ messages, max_output_tokens }) => `${messages[0]?.content}${max_output_tokens}`;
const asked: Report = wb.compact(messages, { ...options, summarizer: summarize }).report;
const summarizer = { ask: async () => ({ cut_off: "# Status" }), window: 8000, instructions: "Keep sums." };
const progress = (stage: Progress) => { if (stage.stage === "asking") stage.prompt_tokens.toFixed(); };
const awaited: ChatMessage[] | null = (await wb.compactAsync(messages, { summarizer, progress })).messages;

const requests: unknown[] = wb.facts(messages).requests;
const findings: Finding[] = wb.audit(messages, "All tests pass.");
const violations: Violation[] = wb.validate(messages, { dialects: ["anthropic"] });
const { messages: repaired, fixed, left } = wb.repair(messages);
const to: Target = "anthropic";
const { output, lost } = wb.convert(messages, to);
const excerpts: string = wb.recall(messages, "files") + wb.recall(messages, { turn: 1, max_tokens: 200 });

const operation: Operation = "weigh";
const result: unknown = wb.call(operation, { messages: [{ role: "user" }], options: { window: 8000 } });

const context = new wb.Context<ChatMessage>(options);
context.push(...messages, { role: "assistant", content: "a.txt" });
if (context.gate().over_budget) context.compact().notes.join();
const undone: boolean = context.undo();
const next: ChatMessage[] = context.messages;
const later: Report = await new wb.Context<ChatMessage>({ ...options, summarizer }).compactAsync();

try {
  wb.weigh(messages, { window: 0 });
} catch (error) {
  if (error instanceof wb.WindowBudgetError && error.kind === "option") throw new Error(error.hint);
}

// @ts-expect-error An option that does not exist.
wb.weigh(messages, { windows: 8000 });
// @ts-expect-error An async summarizer needs compactAsync.
wb.compact(messages, { summarizer });
// @ts-expect-error A message of another kind.
context.push({ role: "tool", content: "" });
// @ts-expect-error A format that cannot be written.
wb.convert(messages, "goose");

export { asked, awaited, body, excerpts, findings, fixed, later, lost, left, list, next, output, over, repaired, report };
export { requests, result, session, undone, violations };

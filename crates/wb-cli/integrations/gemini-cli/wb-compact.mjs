// Compacts Gemini CLI sessions with `wb`: each request gets the digest in place of the summary of
// a compression. Gemini CLI still makes its two requests for the summary and keeps it in the
// session; on any failure here, the model reads that summary.
// @ts-check
import { spawn } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const WB = "@WB@";
/** The name that Gemini CLI gives to the tool of our server, if it is on. */
const RECALL = "@RECALL@" ? "mcp_wb_recall" : undefined;
/** The time budget of `wb` in milliseconds, and the grace period before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;
/** The model's reply that Gemini CLI inserts after the summary. */
const THANKS = "Got it. Thanks for the additional context!";

/** @typedef {{text?: string, thought?: boolean, functionCall?: any, functionResponse?: any}} Part */
/** @typedef {{id: string, type: string, content?: string | Part[], toolCalls?: any[]}} Entry */
/** @typedef {{summary: string, digest: string | null}} Known */

/**
 * Calls `wb hook`.
 * @param {object} question
 * @returns {Promise<any>}
 */
function ask(question) {
  return new Promise((resolve) => {
    let text = "";
    const child = spawn(WB, ["hook"], { stdio: ["pipe", "pipe", "ignore"] });
    const end = () => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      // A child process of `wb` might keep it open.
      child.stdout.destroy();
      resolve(undefined);
    };
    const timer = setTimeout(end, BUDGET_MS + GRACE_MS);
    child.stdout.setEncoding("utf8").on("data", (piece) => (text += piece));
    child.stdin.on("error", () => {});
    child.on("error", end);
    child.on("close", () => {
      try {
        resolve(JSON.parse(text));
      } catch {}
      end();
    });
    child.stdin.end(JSON.stringify({ version: 1, host: "gemini-cli", budget_ms: BUDGET_MS, recall: RECALL, ...question }));
  });
}

/** @param {Entry} entry @returns {Part[]} */
const partsOf = ({ content }) => (typeof content === "string" ? (content ? [{ text: content }] : []) : (content ?? []));
/** @param {Entry} entry */
const textOf = (entry) => partsOf(entry).filter((part) => !part.thought).map((part) => part.text ?? "").join("");
/** @param {Entry} entry */
const isPrompt = (entry) => entry.type === "user" && !partsOf(entry).some((part) => part.functionResponse);

/**
 * Reads a session; returns the messages before the summary, and the number of prompts after it.
 * @param {string} file
 * @param {(text: string) => boolean} isSummary
 */
function readBeforeSummary(file, isSummary) {
  /** @type {Entry[]} */ let now = [];
  /** @type {{old: Entry[], prompts: number, summary: string, id: string} | undefined} */ let found;
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (!line) continue;
    const record = JSON.parse(line);
    if (record.$set?.messages) {
      /** @type {Entry[]} */ const next = record.$set.messages;
      const at = next.findIndex((entry, at) => entry.type === "user" && next[at + 1] !== undefined && textOf(next[at + 1]) === THANKS);
      // A resume writes the same list again, with the summary that is already known.
      if (at >= 0 && isSummary(textOf(next[at])) && !now.some(({ id }) => id === next[at].id)) {
        found = { old: now, prompts: next.slice(at + 2).filter(isPrompt).length, summary: textOf(next[at]), id: next[at].id };
      }
      now = next;
    } else if (record.$rewindTo) {
      const at = now.findIndex(({ id }) => id === record.$rewindTo);
      now = now.slice(0, Math.max(at, 0));
    } else if (record.type === "user" || record.type === "gemini") {
      // A message is written again once its calls are answered.
      const at = now.findIndex(({ id }) => id === record.id);
      now = at < 0 ? [...now, record] : now.with(at, record);
    }
  }
  return found;
}

/**
 * Returns messages in the format of `wb`. A session contains a result in up to three places; the
 * first counts.
 * @param {Entry[]} entries
 * @param {Known[]} known
 */
function toWbMessages(entries, known) {
  /** @type {object[]} */ const converted = [];
  /** @type {number[]} */ const prompts = [];
  const calls = new Set();
  const answered = new Set();
  /** @param {any} call */
  const answer = ({ id, name, response }) => {
    if (!calls.has(id) || answered.has(id)) return;
    answered.add(id);
    const content = response?.output ?? response?.error ?? JSON.stringify(response ?? {});
    converted.push({ role: "toolResult", toolCallId: id, toolName: name, content: String(content), isError: response?.error !== undefined });
  };
  for (const entry of entries) {
    const parts = partsOf(entry);
    let text = textOf(entry).replace(/^<session_context>[^]*?<\/session_context>/, "");
    if (entry.type === "user") {
      for (const { functionResponse } of parts) if (functionResponse) answer(functionResponse);
      if (!isPrompt(entry) || text === "") continue;
      prompts.push(converted.length);
      text = known.find(({ summary, digest }) => digest && summary === text)?.digest ?? text;
      converted.push({ role: "user", content: text });
    } else if (text !== THANKS) {
      const made = [...parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : [])), ...(entry.toolCalls ?? [])]
        .filter(({ id }, at, all) => !calls.has(id) && all.findIndex((call) => call.id === id) === at);
      made.forEach(({ id }) => calls.add(id));
      const content = [...(text ? [{ kind: "text", text }] : []),
        ...made.map(({ id, name, args }) => ({ kind: "tool_call", id, name, input: args ?? {} }))];
      if (content.length > 0) converted.push({ role: "assistant", content });
      for (const { result } of entry.toolCalls ?? []) for (const { functionResponse } of result ?? []) if (functionResponse) answer(functionResponse);
    }
  }
  return { converted, prompts };
}

async function main() {
  let input = "";
  for await (const piece of process.stdin.setEncoding("utf8")) input += piece;
  const { hook_event_name, transcript_path, session_id, cwd, llm_request } = JSON.parse(input);
  /** @type {{role: string, content: string}[]} */ const messages = llm_request?.messages ?? [];
  const at = messages.findIndex(({ role }, at) => role === "user" && messages[at + 1]?.content === THANKS);
  if (hook_event_name !== "BeforeModel" || at < 0 || !transcript_path || !existsSync(transcript_path)) return;
  const { content } = messages[at];
  const digestsFile = transcript_path + ".wb-digests";
  /** @type {Known[]} */ let known = [];
  try {
    known = JSON.parse(readFileSync(digestsFile, "utf8"));
  } catch {}
  let entry = known.find(({ summary }) => content.endsWith(summary));
  if (!entry) {
    const found = readBeforeSummary(transcript_path, (text) => text !== "" && content.endsWith(text));
    if (!found) return;
    const { converted, prompts } = toWbMessages(found.old, known);
    const answer = await ask({ session_id, cwd, model: llm_request.model, session: { messages: converted },
      keep_from: found.prompts === 0 ? converted.length : prompts.at(-found.prompts) });
    const hasDigest = answer?.version === 1 && answer.action === "replace" && answer.digest;
    // A failure is recorded, so that it is not retried with every request.
    entry = { summary: found.summary, digest: hasDigest ? answer.digest : null };
    writeFileSync(digestsFile + ".new", JSON.stringify([...known, entry]), { mode: 0o600 });
    renameSync(digestsFile + ".new", digestsFile);
  }
  if (!entry.digest) return;
  // Only texts up to the summary are replaced, message by message.
  const changed = messages.slice(0, at + 1);
  changed[at] = { ...messages[at], content: content.slice(0, content.length - entry.summary.length) + entry.digest };
  process.stdout.write(JSON.stringify({ hookSpecificOutput: { hookEventName: "BeforeModel", llm_request: { messages: changed } } }));
}

// Without output, the host continues with its own summary.
main().catch(() => {});

// Compacts sessions of Gemini CLI with `wb`: in each request the digest stands in the place of the summary that a
// compression left. Gemini CLI still sends its two requests for that summary, and keeps it in the session; whatever
// goes wrong here, the model reads it.
// @ts-check
import { spawn } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const WB = "@WB@";
/** Milliseconds that `wb` may take, and those that it then has to say so before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;
/** What Gemini CLI has the model say after the summary. */
const THANKS = "Got it. Thanks for the additional context!";

/** @typedef {{text?: string, thought?: boolean, functionCall?: any, functionResponse?: any}} Part */
/** @typedef {{id: string, type: string, content?: string | Part[], toolCalls?: any[]}} Entry */
/** @typedef {{summary: string, digest: string | null}} Known */

/**
 * Asks `wb hook`.
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
      // What `wb` started might still hold it open.
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
    child.stdin.end(JSON.stringify({ version: 1, host: "gemini-cli", budget_ms: BUDGET_MS, ...question }));
  });
}

/** @param {Entry} entry @returns {Part[]} */
const partsOf = ({ content }) => (typeof content === "string" ? (content ? [{ text: content }] : []) : (content ?? []));
/** @param {Entry} entry */
const textOf = (entry) => partsOf(entry).filter((part) => !part.thought).map((part) => part.text ?? "").join("");
/** @param {Entry} entry */
const isPrompt = (entry) => entry.type === "user" && !partsOf(entry).some((part) => part.functionResponse);

/**
 * Reads a session, and returns what stood in it before `summary` came, and how many prompts stayed behind that.
 * @param {string} file
 * @param {(text: string) => boolean} isSummary
 */
function before(file, isSummary) {
  /** @type {Entry[]} */ let now = [];
  /** @type {{old: Entry[], prompts: number, summary: string, id: string} | undefined} */ let found;
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (!line) continue;
    const told = JSON.parse(line);
    if (told.$set?.messages) {
      /** @type {Entry[]} */ const next = told.$set.messages;
      const at = next.findIndex((entry, at) => entry.type === "user" && next[at + 1] !== undefined && textOf(next[at + 1]) === THANKS);
      // A resume writes the same list again, in which the summary is no news.
      if (at >= 0 && isSummary(textOf(next[at])) && !now.some(({ id }) => id === next[at].id)) {
        found = { old: now, prompts: next.slice(at + 2).filter(isPrompt).length, summary: textOf(next[at]), id: next[at].id };
      }
      now = next;
    } else if (told.$rewindTo) {
      const at = now.findIndex(({ id }) => id === told.$rewindTo);
      now = now.slice(0, Math.max(at, 0));
    } else if (told.type === "user" || told.type === "gemini") {
      // A message is written again once its calls are answered.
      const at = now.findIndex(({ id }) => id === told.id);
      now = at < 0 ? [...now, told] : now.with(at, told);
    }
  }
  return found;
}

/**
 * Returns messages in the form of `wb`. A session holds the result of a call in up to three places; the first counts.
 * @param {Entry[]} entries
 * @param {Known[]} known
 */
function inOurForm(entries, known) {
  /** @type {object[]} */ const told = [];
  /** @type {number[]} */ const prompts = [];
  const calls = new Set();
  const answered = new Set();
  /** @param {any} call */
  const answer = ({ id, name, response }) => {
    if (!calls.has(id) || answered.has(id)) return;
    answered.add(id);
    const content = response?.output ?? response?.error ?? JSON.stringify(response ?? {});
    told.push({ role: "toolResult", toolCallId: id, toolName: name, content: String(content), isError: response?.error !== undefined });
  };
  for (const entry of entries) {
    const parts = partsOf(entry);
    let text = textOf(entry).replace(/^<session_context>[^]*?<\/session_context>/, "");
    if (entry.type === "user") {
      for (const { functionResponse } of parts) if (functionResponse) answer(functionResponse);
      if (!isPrompt(entry) || text === "") continue;
      prompts.push(told.length);
      text = known.find(({ summary, digest }) => digest && summary === text)?.digest ?? text;
      told.push({ role: "user", content: text });
    } else if (text !== THANKS) {
      const made = [...parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : [])), ...(entry.toolCalls ?? [])]
        .filter(({ id }, at, all) => !calls.has(id) && all.findIndex((call) => call.id === id) === at);
      made.forEach(({ id }) => calls.add(id));
      const content = [...(text ? [{ kind: "text", text }] : []),
        ...made.map(({ id, name, args }) => ({ kind: "tool_call", id, name, input: args ?? {} }))];
      if (content.length > 0) told.push({ role: "assistant", content });
      for (const { result } of entry.toolCalls ?? []) for (const { functionResponse } of result ?? []) if (functionResponse) answer(functionResponse);
    }
  }
  return { told, prompts };
}

async function main() {
  let asked = "";
  for await (const piece of process.stdin.setEncoding("utf8")) asked += piece;
  const { hook_event_name, transcript_path, session_id, cwd, llm_request } = JSON.parse(asked);
  /** @type {{role: string, content: string}[]} */ const messages = llm_request?.messages ?? [];
  const at = messages.findIndex(({ role }, at) => role === "user" && messages[at + 1]?.content === THANKS);
  if (hook_event_name !== "BeforeModel" || at < 0 || !transcript_path || !existsSync(transcript_path)) return;
  const { content } = messages[at];
  const beside = transcript_path + ".wb-digests";
  /** @type {Known[]} */ let known = [];
  try {
    known = JSON.parse(readFileSync(beside, "utf8"));
  } catch {}
  let mine = known.find(({ summary }) => content.endsWith(summary));
  if (!mine) {
    const found = before(transcript_path, (text) => text !== "" && content.endsWith(text));
    if (!found) return;
    const { told, prompts } = inOurForm(found.old, known);
    const answer = await ask({ session_id, cwd, model: llm_request.model, session: { messages: told },
      keep_from: found.prompts === 0 ? told.length : prompts.at(-found.prompts) });
    const isOurs = answer?.version === 1 && answer.action === "replace" && answer.digest;
    // What could not be done once is not tried again before each request.
    mine = { summary: found.summary, digest: isOurs ? answer.digest : null };
    writeFileSync(beside + ".new", JSON.stringify([...known, mine]), { mode: 0o600 });
    renameSync(beside + ".new", beside);
  }
  if (!mine.digest) return;
  // Only texts are replaced, message by message; those behind the summary are left alone.
  const changed = messages.slice(0, at + 1);
  changed[at] = { ...messages[at], content: content.slice(0, content.length - mine.summary.length) + mine.digest };
  process.stdout.write(JSON.stringify({ hookSpecificOutput: { hookEventName: "BeforeModel", llm_request: { messages: changed } } }));
}

// The host's own way is to say nothing.
main().catch(() => {});

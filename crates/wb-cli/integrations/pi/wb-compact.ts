// Compacts pi sessions with `wb`, without a model; falls back to pi's own compaction.
import { spawn } from "node:child_process";
import type { ExtensionAPI, ExtensionContext, SessionEntry } from "@mariozechner/pi-coding-agent";

const WB = "@WB@";
/** Whether the model gets the tool with which it looks up what was folded. */
const IS_RECALL: unknown = "@RECALL@";
/** The time budget of `wb` in milliseconds, and the grace period before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;

type Answer =
  | { version: 1; action: "replace"; digest: string; notice?: string }
  | { version: 1; action: "pass"; reason: string };

/** Calls `wb hook`; after any failure pi compacts by itself. */
function ask(question: object, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    let text = "";
    const child = spawn(WB, ["hook"], { stdio: ["pipe", "pipe", "ignore"] });
    const end = (reason: string) => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      // A child process of `wb` might keep it open.
      child.stdout.destroy();
      resolve({ version: 1, action: "pass", reason });
    };
    const timer = setTimeout(() => end("there was no answer in time"), BUDGET_MS + GRACE_MS);
    child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    signal.addEventListener("abort", () => end("the user wanted no compaction any more"), { once: true });
    child.stdin.on("error", () => {});
    child.on("error", (error) => end(error.message));
    child.on("close", () => {
      try {
        const answer = JSON.parse(text);
        if (answer.version === 1 && (answer.action !== "replace" || answer.digest)) resolve(answer);
      } catch {}
      // Ignored if an answer has already been resolved.
      end("there was no answer of this version");
    });
    child.stdin.end(JSON.stringify({ version: 1, host: "pi", budget_ms: BUDGET_MS, recall: IS_RECALL ? TOOL.name : undefined, ...question }));
  });
}

/** Runs `wb recall` on a session and returns its output. */
function lookUp(session: string, tool: object, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const child = spawn(WB, ["recall", "-", "--arguments", JSON.stringify(tool)], { stdio: ["pipe", "pipe", "pipe"], signal });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    child.stdin.on("error", () => {});
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(text) : reject(new Error(text.trim()))));
    child.stdin.end(session);
  });
}

/** The name, description and parameters of the tool. */
const TOOL = "@TOOL@" as unknown as { name: string; description: string; parameters: object };

/** Returns entries as a separate session file, each a child of the one before. */
function toSessionFile(entries: SessionEntry[], ctx: ExtensionContext): string {
  const header = ctx.sessionManager.getHeader() ?? { type: "session", version: 3, id: "branch", timestamp: new Date(0).toISOString(), cwd: ctx.cwd };
  const chained = entries.map((entry, at) => ({ ...entry, parentId: entries[at - 1]?.id ?? null }));
  return [header, ...chained].map((line) => JSON.stringify(line)).join("\n");
}

/** Shows a line to the person, if the session is still there. */
function notify(ui: ExtensionContext["ui"] | undefined, notice: string | undefined) {
  try {
    if (notice) ui?.notify(notice, "info");
  } catch {
    // The session ended while it was compacted, and with it its screen.
  }
}

function sessionContext(ctx: ExtensionContext) {
  return { session_id: ctx.sessionManager.getSessionId(), session_file: ctx.sessionManager.getSessionFile(),
    newest_record: ctx.sessionManager.getBranch().findLast(({ type }) => type === "message")?.id, cwd: ctx.cwd, window: ctx.model?.contextWindow, model: ctx.model?.id };
}

export default function (pi: ExtensionAPI) {
  if (IS_RECALL) {
    pi.registerTool({
      name: TOOL.name, label: "Recall", description: TOOL.description, parameters: TOOL.parameters as never,
      async execute(_id, params, signal, _onUpdate, ctx) {
        const answer = await lookUp(toSessionFile(ctx.sessionManager.getBranch(), ctx), params as object, signal);
        return { content: [{ type: "text" as const, text: answer }], details: {} };
      },
    });
  }

  pi.on("session_before_compact", async ({ preparation, branchEntries, customInstructions, signal }, ctx) => {
    const { firstKeptEntryId, tokensBefore, fileOps } = preparation;
    const question = { ...sessionContext(ctx), session: { text: toSessionFile(branchEntries, ctx) }, instructions: customInstructions,
      trigger: customInstructions === undefined ? "auto" : "manual", keep_from: firstKeptEntryId };
    const ui = ctx.hasUI ? ctx.ui : undefined;
    const answer = await ask(question, signal);
    if (answer.action !== "replace") return undefined;
    notify(ui, answer.notice);
    const modified = new Set([...fileOps.written, ...fileOps.edited]);
    const details = { readFiles: [...fileOps.read].filter((path) => !modified.has(path)).sort(), modifiedFiles: [...modified].sort() };
    return { compaction: { summary: answer.digest, firstKeptEntryId, tokensBefore, details } };
  });

  pi.on("session_before_tree", async ({ preparation, signal }, ctx) => {
    const { entriesToSummarize, userWantsSummary, customInstructions } = preparation;
    if (!userWantsSummary || entriesToSummarize.length === 0) return undefined;
    const question = { ...sessionContext(ctx), session: { text: toSessionFile(entriesToSummarize, ctx) }, instructions: customInstructions,
      trigger: "manual", keep_from: Number.MAX_SAFE_INTEGER };
    const answer = await ask(question, signal);
    return answer.action === "replace" ? { summary: { summary: answer.digest } } : undefined;
  });
}

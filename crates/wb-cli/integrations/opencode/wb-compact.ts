// Compacts opencode sessions with `wb`: its digest replaces the model's summary, unless `wb` cannot
// do better. opencode still makes its request for a summary.
import { spawn } from "node:child_process";
import type { Hooks, Plugin } from "@opencode-ai/plugin";

const WB = "@WB@";
/** Whether the model gets the tool `recall`; opencode installs the package that describes tools. */
const IS_RECALL: unknown = "@RECALL@";
/** The time budget of `wb` in milliseconds, and the grace period before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;

type Answer =
  | { version: 1; action: "replace"; digest: string; notice?: string }
  | { version: 1; action: "pass"; reason: string };

/** Calls `wb hook`; after any failure opencode compacts by itself. */
function ask(question: object, recall?: string): Promise<Answer> {
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
    child.stdin.end(JSON.stringify({ version: 1, host: "opencode", budget_ms: BUDGET_MS, recall, ...question }));
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

type Property = { type: "string" | "integer"; description: string };
/** The name, description and parameters of the tool. */
const TOOL = "@TOOL@" as unknown as { name: string; description: string; parameters: { properties: Record<string, Property> } };

/** Returns whether a message requests a compaction, and whether it is the summary of one. */
const isRequest = ({ parts }: { parts: { type: string }[] }) => parts.some(({ type }) => type === "compaction");
const isSummary = (info: { summary?: unknown }) => info.summary === true;

export const WbCompact: Plugin = async ({ client, directory }) => {
  const { tool } = (IS_RECALL ? await import("@opencode-ai/plugin").catch(() => undefined) : undefined) ?? {};
  /** The sessions with a started compaction for which `wb` was not called yet. */
  const armed = new Set<string>();
  /** The answers of `wb` for running compactions. */
  const underway = new Map<string, Promise<Answer>>();

  /** Calls `wb` for a session; messages after the last folded one are kept, if that is known. */
  async function answer(sessionID: string, last?: string): Promise<Answer> {
    const path = { id: sessionID };
    const [session, response] = await Promise.all([client.session.get({ path }), client.session.messages({ path })]);
    const messages = response.data ?? [];
    // The running compaction is at the end.
    const begun = messages.findLastIndex(isRequest);
    const part: { auto?: boolean } | undefined = messages[begun]?.parts.find((part) => part.type === "compaction");
    const before = begun < 0 ? messages : messages.slice(0, begun);
    const end = before.findIndex(({ info }) => info.id === last);
    const firstKept = end < 0 ? undefined : before.slice(end + 1).find((message) => !isRequest(message) && !isSummary(message.info));
    return ask({ session_id: sessionID, cwd: directory, trigger: part?.auto === false ? "manual" : "auto",
      session: { content: { info: session.data, messages: before } }, newest_record: before.at(-1)?.info.id,
      keep_from: firstKept?.info.id ?? Number.MAX_SAFE_INTEGER }, tool && TOOL.name);
  }

  function begin(sessionID: string, last?: string) {
    armed.delete(sessionID);
    underway.set(sessionID, answer(sessionID, last).catch((error) => ({ version: 1, action: "pass", reason: String(error) })));
  }

  /** Describes the tool, if the package for that is there. */
  function tools(): Hooks["tool"] {
    if (tool === undefined) return undefined;
    const { string, number } = tool.schema;
    const toArgument = ({ type, description }: Property) =>
      (type === "integer" ? number().int().min(0) : string()).optional().describe(description);
    const args = Object.fromEntries(Object.entries(TOOL.parameters.properties).map(([name, it]) => [name, toArgument(it)]));
    return { [TOOL.name]: tool({ description: TOOL.description, args, async execute(asked, { sessionID, abort }) {
      const path = { id: sessionID };
      const [session, messages] = await Promise.all([client.session.get({ path }), client.session.messages({ path })]);
      return lookUp(JSON.stringify({ info: session.data, messages: messages.data ?? [] }), asked, abort);
    } }) };
  }

  return {
    tool: tools(),
    "experimental.session.compacting": async ({ sessionID }) => {
      armed.add(sessionID);
    },
    // The first call after that gets the messages to fold: the only early sign of the kept ones.
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const last = messages.at(-1)?.info;
      if (last !== undefined && armed.has(last.sessionID)) begin(last.sessionID, last.id);
    },
    // Called for every text of the model, of which one is the summary.
    "experimental.text.complete": async ({ sessionID, messageID }, output) => {
      if (armed.has(sessionID)) begin(sessionID);
      const pending = underway.get(sessionID);
      if (pending === undefined) return;
      underway.delete(sessionID);
      const message = await client.session.message({ path: { id: sessionID, messageID } });
      const answer = await pending;
      if (!message.data || !isSummary(message.data.info) || answer.action !== "replace") return;
      output.text = answer.digest;
      // Without a screen there is nobody to read it.
      if (answer.notice) client.tui.showToast({ body: { message: answer.notice, variant: "info" } }).catch(() => {});
    },
  };
};

// Compacts openclaw sessions with `wb`, without a model; falls back to openclaw's own compaction.
import { spawn } from "node:child_process";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const WB = "@WB@";
/** The time budget of `wb` in milliseconds, and the grace period before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;
/** The end of the digest; openclaw appends recent turns and passes on all as the last summary. */
const END = "[end of the digest]";

type Part = { type: string; text?: string; id?: string; name?: string; arguments?: unknown };
type HostMessage = { role: string; content?: string | Part[]; toolCallId?: string; toolName?: string; isError?: boolean };
type Answer =
  | { version: 1; action: "replace"; digest: string }
  | { version: 1; action: "pass"; reason: string };

/** Calls `wb hook`; after any failure openclaw compacts by itself. */
function ask(question: object, signal?: AbortSignal): Promise<Answer> {
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
    signal?.addEventListener("abort", () => end("the user wanted no compaction any more"), { once: true });
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
    child.stdin.end(JSON.stringify({ version: 1, host: "openclaw", budget_ms: BUDGET_MS, ...question }));
  });
}

/** Returns messages in the format of `wb`; other roles are not part of the conversation. */
function toWbMessages(messages: HostMessage[]): object[] {
  return messages.flatMap(({ role, content = "", toolCallId, toolName, isError }): object[] => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const text = parts.flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("\n");
    if (role === "toolResult") return [{ role, toolCallId, toolName, content: text, isError: isError ?? false }];
    if (role === "user") return [{ role, content: text }];
    if (role !== "assistant") return [];
    const calls = parts.flatMap(({ type, id, name, arguments: input }) => (type === "toolCall" ? [{ kind: "tool_call", id, name, input }] : []));
    return [{ role, content: [...(text ? [{ kind: "text", text }] : []), ...calls] }];
  });
}

/** Returns the text after `/compact`, which openclaw appends to its own instructions. */
function userInstructions(instructions = ""): string | undefined {
  const words = /^Additional context from \/compact.*\n<untrusted-text>\n([^]*?)\n<\/untrusted-text>/m.exec(instructions)?.[1];
  // Without any, openclaw inserts its default instructions.
  if (words?.startsWith("Write the summary body in the primary language")) return undefined;
  return words?.replaceAll("&lt;", "<").replaceAll("&gt;", ">");
}

export default definePluginEntry({
  id: "wb-compact",
  name: "wb compact",
  description: "Compacts sessions with wb, without a request to a model.",
  register(api) {
    api.registerCompactionProvider({
      id: "wb",
      label: "wb",
      // An empty summary makes openclaw write its own.
      async summarize({ messages, signal, customInstructions, previousSummary }) {
        const earlier = previousSummary ? [{ role: "user", content: previousSummary.split(`\n\n${END}`, 1)[0] }] : [];
        const converted = [...earlier, ...toWbMessages(messages as HostMessage[])];
        const instructions = userInstructions(customInstructions);
        const answer = await ask({ session: { messages: converted }, keep_from: converted.length, instructions,
          trigger: instructions === undefined ? "auto" : "manual" }, signal);
        return answer.action === "replace" ? `${answer.digest}\n\n${END}` : "";
      },
    });
  },
});

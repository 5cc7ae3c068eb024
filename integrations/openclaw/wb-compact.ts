// Compacts sessions of openclaw with `wb`: no request to a model, and openclaw's own way where `wb` cannot do better.
import { spawn } from "node:child_process";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const WB = "@WB@";
/** Milliseconds that `wb` may take, and those that it then has to say so before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;
/** Closes the digest: openclaw writes recent turns behind it, and hands all of that over as the previous summary. */
const END = "[end of the digest]";

type Part = { type: string; text?: string; id?: string; name?: string; arguments?: unknown };
type Told = { role: string; content?: string | Part[]; toolCallId?: string; toolName?: string; isError?: boolean };
type Answer =
  | { version: 1; action: "replace"; digest: string }
  | { version: 1; action: "pass"; reason: string };

/** Asks `wb hook`; whatever goes wrong on the way, openclaw goes its own way. */
function ask(question: object, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    let text = "";
    const child = spawn(WB, ["hook"], { stdio: ["pipe", "pipe", "ignore"] });
    const end = (reason: string) => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      // What `wb` started might still hold it open.
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
      // Where that was an answer, this one comes too late to count.
      end("there was no answer of this version");
    });
    child.stdin.end(JSON.stringify({ version: 1, host: "openclaw", budget_ms: BUDGET_MS, ...question }));
  });
}

/** Returns messages in the form of `wb`; what openclaw tells beside them is no part of the conversation. */
function inOurForm(messages: Told[]): object[] {
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

/** Returns the words behind `/compact`, which openclaw hands over below its own instructions for a summary. */
function wordsOfTheUser(instructions = ""): string | undefined {
  const words = /^Additional context from \/compact.*\n<untrusted-text>\n([^]*?)\n<\/untrusted-text>/m.exec(instructions)?.[1];
  // Without any, its standing ones take their place.
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
      // An empty summary has openclaw write its own.
      async summarize({ messages, signal, customInstructions, previousSummary }) {
        const earlier = previousSummary ? [{ role: "user", content: previousSummary.split(`\n\n${END}`, 1)[0] }] : [];
        const told = [...earlier, ...inOurForm(messages as Told[])];
        const instructions = wordsOfTheUser(customInstructions);
        const answer = await ask({ session: { messages: told }, keep_from: told.length, instructions,
          trigger: instructions === undefined ? "auto" : "manual" }, signal);
        return answer.action === "replace" ? `${answer.digest}\n\n${END}` : "";
      },
    });
  },
});

// Compacts sessions of opencode with `wb`: the summary that is stored is ours, and the model's own where `wb` cannot
// do better. opencode still sends its request for a summary.
import { spawn } from "node:child_process";
import type { Plugin } from "@opencode-ai/plugin";

const WB = "@WB@";
/** Milliseconds that `wb` may take, and those that it then has to say so before it is stopped. */
const BUDGET_MS = 8000;
const GRACE_MS = 1000;

type Answer =
  | { version: 1; action: "replace"; digest: string }
  | { version: 1; action: "pass"; reason: string };

/** Asks `wb hook`; whatever goes wrong on the way, opencode goes its own way. */
function ask(question: object): Promise<Answer> {
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
    child.stdin.end(JSON.stringify({ version: 1, host: "opencode", budget_ms: BUDGET_MS, ...question }));
  });
}

/** Returns whether a message asks for a compaction, and whether it is the summary of one. */
const isAsked = ({ parts }: { parts: { type: string }[] }) => parts.some(({ type }) => type === "compaction");
const isSummary = (info: { summary?: unknown }) => info.summary === true;

export const WbCompact: Plugin = async ({ client, directory }) => {
  /** The sessions whose compaction has begun, and of which `wb` was not asked yet. */
  const armed = new Set<string>();
  /** What `wb` answers to the compaction that a session is in. */
  const underway = new Map<string, Promise<Answer>>();

  /** Asks about a session; what stands behind a message that is folded last stays, if that is known. */
  async function answer(sessionID: string, last?: string): Promise<Answer> {
    const path = { id: sessionID };
    const [session, told] = await Promise.all([client.session.get({ path }), client.session.messages({ path })]);
    const messages = told.data ?? [];
    // The compaction that is underway stands at the end.
    const begun = messages.findLastIndex(isAsked);
    const part: { auto?: boolean } | undefined = messages[begun]?.parts.find((part) => part.type === "compaction");
    const before = begun < 0 ? messages : messages.slice(0, begun);
    const end = before.findIndex(({ info }) => info.id === last);
    const stays = end < 0 ? undefined : before.slice(end + 1).find((message) => !isAsked(message) && !isSummary(message.info));
    return ask({ session_id: sessionID, cwd: directory, trigger: part?.auto === false ? "manual" : "auto",
      session: { content: { info: session.data, messages: before } }, newest_record: before.at(-1)?.info.id,
      keep_from: stays?.info.id ?? Number.MAX_SAFE_INTEGER });
  }

  function begin(sessionID: string, last?: string) {
    armed.delete(sessionID);
    underway.set(sessionID, answer(sessionID, last).catch((error) => ({ version: 1, action: "pass", reason: String(error) })));
  }

  return {
    "experimental.session.compacting": async ({ sessionID }) => {
      armed.add(sessionID);
    },
    // The first one after that is handed what is folded; which messages stay is told nowhere else in time.
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const last = messages.at(-1)?.info;
      if (last !== undefined && armed.has(last.sessionID)) begin(last.sessionID, last.id);
    },
    // Fires for every text of the model; the summary is the one of a message that is marked so.
    "experimental.text.complete": async ({ sessionID, messageID }, output) => {
      if (armed.has(sessionID)) begin(sessionID);
      const asked = underway.get(sessionID);
      if (asked === undefined) return;
      underway.delete(sessionID);
      const message = await client.session.message({ path: { id: sessionID, messageID } });
      const given = await asked;
      if (message.data && isSummary(message.data.info) && given.action === "replace") output.text = given.digest;
    },
  };
};

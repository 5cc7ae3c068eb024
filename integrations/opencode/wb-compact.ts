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

export const WbCompact: Plugin = async ({ client, directory }) => {
  /** What `wb` answers to the compaction that a session is in. */
  const underway = new Map<string, Promise<Answer>>();

  async function answer(sessionID: string): Promise<Answer> {
    const path = { id: sessionID };
    const [session, told] = await Promise.all([client.session.get({ path }), client.session.messages({ path })]);
    const messages = told.data ?? [];
    // The compaction that is underway stands at the end; its part names the first message that stays.
    const begun = messages.findLastIndex(({ parts }) => parts.some((part) => part.type === "compaction"));
    const part: { tail_start_id?: string; auto?: boolean } | undefined = messages[begun]?.parts.find((part) => part.type === "compaction");
    const before = begun < 0 ? messages : messages.slice(0, begun);
    return ask({ session_id: sessionID, cwd: directory, trigger: part?.auto === false ? "manual" : "auto",
      session: { content: { info: session.data, messages: before } }, keep_from: part?.tail_start_id ?? Number.MAX_SAFE_INTEGER });
  }

  return {
    "experimental.session.compacting": async ({ sessionID }) => {
      underway.set(sessionID, answer(sessionID).catch((error) => ({ version: 1, action: "pass", reason: String(error) })));
    },
    // Fires for every text of the model; the summary is the one of a message that is marked so.
    "experimental.text.complete": async ({ sessionID, messageID }, output) => {
      const asked = underway.get(sessionID);
      if (asked === undefined) return;
      underway.delete(sessionID);
      const message = await client.session.message({ path: { id: sessionID, messageID } });
      const info: { summary?: unknown } | undefined = message.data?.info;
      const given = await asked;
      if (info?.summary === true && given.action === "replace") output.text = given.digest;
    },
  };
};

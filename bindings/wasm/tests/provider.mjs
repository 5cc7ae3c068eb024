// A provider on loopback that answers with tool calls, a number of times, and then with a text.
import { createServer } from "node:http";
import { once } from "node:events";

const ROUNDS = 60;
const ANSWER = "The sum is 42.";

/** Starts a provider of Chat Completions and Responses; it keeps every request. */
export async function startProvider() {
  const requests = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()));
    requests.push(body);
    const answer = request.url.endsWith("/responses") ? respond : complete;
    answer(body, requests.length, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${server.address().port}/v1`, requests, close: () => server.close() };
}

function complete(body, n, response) {
  const tool_calls = calls(n).map(({ id, ...called }) => ({ id, type: "function", function: called }));
  const message = n > ROUNDS ? { content: ANSWER } : { content: null, tool_calls };
  const reason = n > ROUNDS ? "stop" : "tool_calls";
  const head = { id: `chatcmpl-${n}`, created: 0, model: body.model };
  if (body.stream) return sendChunks(message, reason, head, response);
  const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason: reason };
  send({ ...head, object: "chat.completion", choices: [choice], usage: usage() }, response);
}

function sendChunks(message, reason, head, response) {
  const tool_calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
  const deltas = [
    { index: 0, delta: { role: "assistant", ...message, tool_calls }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: reason },
  ];
  const chunks = deltas.map((choice) => ({ ...head, object: "chat.completion.chunk", choices: [choice] }));
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end([...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join(""));
}

function respond(body, n, response) {
  const text = { type: "output_text", text: ANSWER, annotations: [] };
  const said = { type: "message", id: `msg_${n}`, role: "assistant", status: "completed", content: [text] };
  const item = { type: "function_call", status: "completed" };
  const called = calls(n).map(({ id, ...call }) => ({ ...item, id: `fc_${id}`, call_id: id, ...call }));
  const answer = { id: `resp_${n}`, object: "response", created_at: 0, status: "completed", model: body.model };
  const tokens = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const thought = { type: "reasoning", id: `rs_${n}`, summary: [{ type: "summary_text", text: "One more page." }] };
  const output = n > ROUNDS ? [said] : [thought, ...called];
  send({ ...answer, output, usage: tokens, parallel_tool_calls: false, tools: [] }, response);
}

function send(answer, response) {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(answer));
}

function usage() {
  return { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
}

// Every fifth round has two calls.
function calls(round) {
  const pages = round % 5 === 0 ? [round, round + 0.5] : [round];
  return pages.map((page) => ({ id: `call_${page}`, name: "read_page", arguments: JSON.stringify({ page }) }));
}

import type { AgentMiddleware } from "langchain";
import type { Options } from "../js/schema.js";

/** Returns a middleware that keeps the messages of each call to the model within the window. */
export function windowBudget(options: Options): AgentMiddleware;

import type { InputProcessor } from "@mastra/core/processors";
import type { Options } from "../js/schema.js";

/** Returns an input processor that keeps the prompt of each call within the window. */
export function windowBudget(options: Options): InputProcessor;

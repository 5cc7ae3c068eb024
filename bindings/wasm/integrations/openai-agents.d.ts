import type { CallModelInputFilter } from "@openai/agents";
import type { Options } from "../js/schema.js";

/** Returns a `callModelInputFilter` that keeps the input of each call within the window. */
export function windowBudget(options: Options): CallModelInputFilter<any>;

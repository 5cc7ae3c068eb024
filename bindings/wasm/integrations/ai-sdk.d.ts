import type { PrepareStepFunction } from "ai";
import type { Options } from "../js/schema.js";

/** Returns a `prepareStep` that keeps the messages of each step within the window. */
export function windowBudget(options: Options): PrepareStepFunction<any>;

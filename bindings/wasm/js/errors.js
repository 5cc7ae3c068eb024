/** A call that has no result: kind, message and hint. */
export class WindowBudgetError extends Error {
  constructor({ kind, message, hint }) {
    super(`${message}; ${hint}`);
    this.name = "WindowBudgetError";
    this.kind = kind;
    this.hint = hint;
  }
}

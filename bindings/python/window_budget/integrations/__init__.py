"""Adapters for agent frameworks; `window-budget[NAME]` installs the framework of one."""

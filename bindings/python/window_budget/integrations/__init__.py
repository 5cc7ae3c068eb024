"""Adapters for agent frameworks; each module needs its framework, as `window-budget[NAME]` installs."""

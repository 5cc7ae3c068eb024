//! Models over HTTP, asked on the loopback.

//! Published rendering as it was recorded, kept for whoever must reproduce it; the main path uses none of it.

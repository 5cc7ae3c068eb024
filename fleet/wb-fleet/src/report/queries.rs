//! The queries. Each orders its rows by all that differs, so equal inputs have equal
//! reports, whatever the partitions.

/// The columns that the other queries read.
pub(crate) const NARROW: &str = "
SELECT id,
       get_field(answer, 'format') AS format,
       get_field(answer, 'model') AS model,
       get_field(answer, 'n_messages') AS n_messages,
       get_field(answer, 'tokens') AS tokens,
       get_field(answer, 'tokens_by_kind') AS tokens_by_kind,
       get_field(answer, 'window') AS token_window,
       get_field(answer, 'fits') AS fits,
       get_field(answer, 'n_violations') AS n_violations,
       get_field(answer, 'violations') AS violations,
       get_field(answer, 'n_findings') AS n_findings,
       get_field(answer, 'findings') AS findings,
       get_field(answer, 'n_summaries') AS n_summaries,
       get_field(answer, 'n_untrue') AS n_untrue,
       get_field(answer, 'strategies') AS strategies,
       get_field(answer, 'error') AS error
FROM analyzed";

pub(crate) const TOTALS: &str = "
SELECT count(*) AS sessions,
       count(tokens) AS \"read\",
       coalesce(sum(n_messages), 0) AS messages,
       coalesce(sum(tokens), 0) AS tokens,
       count(*) FILTER (WHERE NOT fits) AS over_limit,
       count(*) FILTER (WHERE tokens > token_window) AS over_window,
       count(*) FILTER (WHERE n_violations > 0) AS invalid,
       count(*) FILTER (WHERE tokens > token_window OR n_violations > 0) AS refused,
       coalesce(sum(n_summaries), 0) AS summaries,
       coalesce(sum(n_untrue), 0) AS untrue
FROM answers";

pub(crate) const KINDS: &str = "
WITH k AS (SELECT tokens_by_kind AS k FROM answers WHERE tokens IS NOT NULL),
     sums AS (
SELECT 'user' AS kind, sum(get_field(k, 'user')) AS tokens FROM k
UNION ALL SELECT 'assistant', sum(get_field(k, 'assistant')) FROM k
UNION ALL SELECT 'tool results', sum(get_field(k, 'tool_results')) FROM k
UNION ALL SELECT 'shell', sum(get_field(k, 'shell')) FROM k
UNION ALL SELECT 'custom', sum(get_field(k, 'custom')) FROM k
UNION ALL SELECT 'digests and restored files', sum(get_field(k, 'digests_and_restored_files')) FROM k
UNION ALL SELECT 'system prompt and tools', sum(get_field(k, 'system_prompt_and_tools')) FROM k)
SELECT kind, tokens FROM sums WHERE tokens > 0 ORDER BY tokens DESC, kind";

pub(crate) const FORMATS: &str = "
SELECT format, count(*) AS sessions, sum(n_messages) AS messages, sum(tokens) AS tokens,
       max(tokens) AS most, count(*) FILTER (WHERE NOT fits) AS over_limit
FROM answers WHERE tokens IS NOT NULL GROUP BY format ORDER BY tokens DESC, format";

pub(crate) const HEAVIEST: &str = "
SELECT id, format, n_messages AS messages, tokens, token_window AS \"window\"
FROM answers WHERE tokens IS NOT NULL ORDER BY tokens DESC, id, format LIMIT 10";

pub(crate) const BROKEN_RULES: &str = "
WITH v AS (SELECT DISTINCT row_id, dialect, rule FROM (
    SELECT row_id, get_field(v, 'dialect') AS dialect, get_field(v, 'rule') AS rule
    FROM (SELECT row_number() OVER () AS row_id, unnest(violations) AS v FROM answers WHERE n_violations > 0)))
SELECT dialect, rule, count(*) AS sessions FROM v GROUP BY dialect, rule ORDER BY sessions DESC, dialect, rule";

pub(crate) const STRATEGIES: &str = "
SELECT strategy, model, count(*) AS sessions, count(*) FILTER (WHERE compacted) AS compacted,
       coalesce(sum(tokens) FILTER (WHERE compacted), 0) AS tokens_before,
       coalesce(sum(tokens_after) FILTER (WHERE compacted), 0) AS tokens_after,
       count(refusal) AS refused
FROM (SELECT tokens, model, get_field(s, 'strategy') AS strategy, get_field(s, 'compacted') AS compacted,
             get_field(s, 'tokens_after') AS tokens_after, get_field(s, 'error') AS refusal
      FROM (SELECT tokens, model, unnest(strategies) AS s FROM answers WHERE tokens IS NOT NULL))
GROUP BY strategy, model ORDER BY strategy, model";

pub(crate) const FINDINGS: &str = "
SELECT kind, count(*) AS findings, min(why) AS example
FROM (SELECT get_field(f, 'kind') AS kind, get_field(f, 'text') || ': ' || get_field(f, 'why') AS why
      FROM (SELECT unnest(findings) AS f FROM answers WHERE n_findings > 0))
GROUP BY kind ORDER BY findings DESC, kind";

pub(crate) const UNTRUE: &str = "
SELECT id, format, n_untrue AS summaries, n_findings AS findings
FROM answers WHERE n_findings > 0 ORDER BY n_findings DESC, id, format, n_untrue LIMIT 10";

pub(crate) const LOST_RULES: &str = "
WITH lost AS (
    SELECT 'summary' AS lost_by, get_field(f, 'text') AS rule
    FROM (SELECT unnest(findings) AS f FROM answers WHERE n_findings > 0)
    WHERE get_field(f, 'kind') = 'missing_constraint'
    UNION ALL
    SELECT lost_by, unnest(lost) AS rule
    FROM (SELECT get_field(s, 'strategy') AS lost_by, get_field(s, 'lost_rules') AS lost
          FROM (SELECT unnest(strategies) AS s FROM answers WHERE tokens IS NOT NULL))),
ranked AS (
    SELECT lost_by, rule, count(*) AS sessions, sum(count(*)) OVER (PARTITION BY lost_by) AS all_sessions,
           row_number() OVER (PARTITION BY lost_by ORDER BY count(*) DESC, rule) AS place
    FROM lost GROUP BY lost_by, rule)
SELECT lost_by, rule, sessions, all_sessions FROM ranked WHERE place <= 5 ORDER BY lost_by, sessions DESC, rule";

pub(crate) const UNREADABLE: &str = "
SELECT get_field(error, 'part') AS part, get_field(error, 'kind') AS kind, count(*) AS sessions,
       min(get_field(error, 'message')) AS example, min(id) AS id
FROM answers WHERE get_field(error, 'kind') IS NOT NULL GROUP BY 1, 2 ORDER BY sessions DESC, part, kind";

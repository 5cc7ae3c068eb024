//! Documents that hold lists of messages: requests, and the trajectories and logs of agents.

use insta::assert_snapshot;

use crate::composed::shown;

#[test]
fn requests_of_chat_completions_keep_what_is_not_known_and_arguments_that_are_no_json() {
    assert_snapshot!(shown("openai-chat/body.json"));
    assert_snapshot!(shown("openai-chat/array.json"));
}

#[test]
fn requests_of_anthropic_have_each_result_as_a_message() {
    assert_snapshot!(shown("anthropic-messages/body.json"));
}

#[test]
fn a_trajectory_of_mini_swe_agent_tells_usage_and_failures() {
    assert_snapshot!(shown("mini-swe-agent/run.traj.json"));
}

#[test]
fn the_providers_own_summary_hides_what_stands_before_it() {
    assert_snapshot!(shown("anthropic-messages/compacted.json"));
}

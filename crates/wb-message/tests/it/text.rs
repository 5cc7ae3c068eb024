//! Clipping and tidying against naive implementations of their rules, and paths.

use proptest::prelude::*;
use wb_message::markers::CLIP_MARK;
use wb_message::text::{clip, clip_lines, clip_words, head, one_line, tail, tidy};
use wb_message::tools::normal_path;

/// Generates texts of one to four bytes a character, with every kind of white space.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zé漢🦀]{1,8}",
        4 => prop::sample::select(&[" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\t \r\n", "…"][..])
            .prop_map(str::to_owned),
        1 => prop::sample::select(&["\u{a0}", "\u{2003}", "\u{feff}", "\u{200b}", "\u{3000}", "e\u{301}", CLIP_MARK][..])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Tidies character by character: trims both ends, turns CRLF into LF, drops blanks and tabs before
/// LF.
fn naive_tidy(text: &str) -> String {
    let mut out: Vec<char> = Vec::new();
    let chars: Vec<char> = text.trim().chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let crlf = c == '\r' && chars.get(at + 1) == Some(&'\n');
        if crlf {
            continue;
        }
        if c == '\n' {
            while matches!(out.last(), Some(' ' | '\t')) {
                out.pop();
            }
        }
        out.push(c);
    }
    out.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(600), ..ProptestConfig::default() })]

    #[test]
    fn heads_and_tails_are_as_long_as_whole_characters_allow(text in any_text(), max in 0..60_usize) {
        let (first, last) = (head(&text, max), tail(&text, max));
        prop_assert!(text.starts_with(first) && text.ends_with(last));
        for (part, next) in [
            (first, text[first.len()..].chars().next()),
            (last, text[..text.len() - last.len()].chars().next_back()),
        ] {
            prop_assert!(part.len() <= max);
            prop_assert!(next.is_none_or(|c| part.len() + c.len_utf8() > max), "one more would fit");
        }
        prop_assert_eq!(head(first, max), first);
        prop_assert_eq!(tail(last, max), last);
    }

    #[test]
    fn a_clip_is_bounded_idempotent_and_keeps_both_ends(text in any_text(), max in 0..200_usize) {
        let clipped = clip(&text, max);
        prop_assert!(clipped.len() <= max || clipped.len() == text.len() && text.len() <= max);
        prop_assert_eq!(&clip(&clipped, max), &clipped);
        if text.len() <= max {
            prop_assert_eq!(clipped.as_ref(), &text);
        } else if max < CLIP_MARK.len() {
            prop_assert!(text.starts_with(clipped.as_ref()));
        } else {
            let room = max - CLIP_MARK.len();
            let expected = [head(&text, room - room / 3), CLIP_MARK, tail(&text, room / 3)].concat();
            prop_assert_eq!(clipped.as_ref(), expected);
        }
    }

    #[test]
    fn words_are_clipped_whole(text in any_text(), max in CLIP_MARK.len()..200) {
        let (clipped, words) = (clip(&text, max), clip_words(&text, max));
        prop_assert_eq!(&clip_words(&words, max), &words);
        if text.len() <= max {
            prop_assert_eq!(&words, &clipped);
            return Ok(());
        }
        let room = max - CLIP_MARK.len();
        let (first, last) = (head(&text, room - room / 3), tail(&text, room / 3));
        let blank = char::is_whitespace;
        // A part of a word stays where more than 32 bytes would be left out.
        let is_whole = |mark: usize| {
            let (start, end) = (&words[..mark], &words[mark + CLIP_MARK.len()..]);
            if !first.starts_with(start) || !last.ends_with(end) {
                return false;
            }
            let is_start = text[start.len()..].starts_with(blank)
                || start == first && first.rfind(blank).is_none_or(|at| first.len() - at > 32);
            let is_end = text[..text.len() - end.len()].ends_with(blank)
                || end == last && last.find(blank).is_none_or(|at| at > 32);
            is_start && is_end
        };
        let mut marks = words.match_indices('\n').filter(|(at, _)| words[*at..].starts_with(CLIP_MARK));
        prop_assert!(marks.any(|(mark, _)| is_whole(mark)), "{:?}", words);
    }

    #[test]
    fn one_line_is_bounded_and_idempotent(text in any_text(), max in 0..40_usize) {
        let line = one_line(&text, max);
        let n_chars = line.chars().count();
        prop_assert!(n_chars <= max, "{} > {}: {:?}", n_chars, max, line);
        prop_assert!(!line.contains(['\n', '\r', '\t']) && !line.contains("  "));
        prop_assert_eq!(&one_line(&line, max), &line);
        let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if folded.chars().count() <= max {
            prop_assert_eq!(line, folded);
        } else if max > 0 {
            let kept = line.strip_suffix('…').expect("a mark at the end");
            prop_assert!(folded.starts_with(kept), "{:?} is not the start of {:?}", kept, folded);
            prop_assert!(n_chars + 1 >= max, "no room is wasted: {:?} of {}", line, max);
        }
    }

    #[test]
    fn tidying_matches_the_naive_implementation(text in any_text()) {
        prop_assert_eq!(tidy(&text), naive_tidy(&text));
    }

    #[test]
    fn tidying_is_idempotent_without_stray_returns(text in any_text()) {
        let text = text.replace('\r', "");
        let once = tidy(&text);
        prop_assert_eq!(tidy(&once), once);
    }

    #[test]
    fn normal_paths_are_idempotent_and_keep_their_root(parts in prop::collection::vec("[.]{1,3}|[a-c]|", 0..8)) {
        let path = parts.join("/");
        let normal = normal_path(&path).into_owned();
        prop_assert_eq!(normal_path(&normal), normal.as_str());
        prop_assert_eq!(normal.starts_with('/'), path.starts_with('/'));
        let is_detour = |part: &str| matches!(part, "" | ".");
        let inner = normal.strip_prefix('/').unwrap_or(&normal);
        prop_assert!(inner.is_empty() || !inner.split('/').any(is_detour), "{:?} → {:?}", path, normal);
        let climbs = inner.split('/').skip_while(|part| *part == "..").all(|part| part != "..");
        prop_assert!(climbs, "{:?} → {:?}", path, normal);
    }
}

#[test]
fn one_line_is_cut_at_its_bound_inside_and_between_words() {
    for (max, expected) in
        [(0, ""), (1, "…"), (2, "a…"), (3, "ab…"), (4, "abc…"), (5, "abc …"), (6, "abc d…"), (7, "abc def")]
    {
        assert_eq!(one_line("abc\n def", max), expected, "{max}");
    }
}

#[test]
fn clipping_lines_never_starts_a_line_in_the_middle() {
    let whole = format!("[User]: {} [Assistant]: I obey\nlast line", "é".repeat(400));
    let clipped = clip_lines(whole, 300);
    assert!(clipped.len() <= 300 && clipped.ends_with("last line"));
    assert_eq!(
        clipped.lines().filter(|line| line.starts_with('[')).count(),
        1 + usize::from(CLIP_MARK.trim().starts_with('['))
    );
}

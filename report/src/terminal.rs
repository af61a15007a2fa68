//! Text that a terminal shows and does not obey.
//!
//! Names of functions, files, programs and clients come from elsewhere: an escape sequence in one
//! would steer the terminal, a line's end would make up a line of ours.

use std::borrow::Cow;

/// Begins what the picture of a timeline shows in red, and ends it: the only sequences that stay.
pub const RED: &str = "\x1b[31m";
/// Ends [`RED`].
pub const PLAIN: &str = "\x1b[0m";

/// Characters that make what follows stand in another order or place.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
}

/// One name or sentence, in which no line ends.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_invisible, "?"))
}

/// A text of several lines, with our own colours.
pub fn lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c != '\n' && is_invisible(c)) {
        return Cow::Borrowed(text);
    }
    let clean = |part: &str| part.replace(|c| c != '\n' && is_invisible(c), "?");
    let in_red = |part: &str| part.split(PLAIN).map(clean).collect::<Vec<_>>().join(PLAIN);
    let parts: Vec<String> = text.split(RED).map(in_red).collect();
    Cow::Owned(parts.join(RED))
}

/// JSON, in which such characters are escaped: a terminal obeys some that JSON allows.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| match is_invisible(c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b]0;title\x07b\u{9b}2Jc\rd\x7f\u{202e}e\nf";

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        assert_eq!(line(HOSTILE), "a?]0;title?b?2Jc?d??e?f");
        assert_eq!(lines(HOSTILE), "a?]0;title?b?2Jc?d??e\nf");
        assert_eq!(line("größe 3 µs"), "größe 3 µs");
        let red = format!("{RED}a\x1b[31{PLAIN}\n");
        assert_eq!(lines(&red), format!("{RED}a?[31{PLAIN}\n"));
    }

    #[test]
    fn json_stays_the_same_value() {
        let told = serde_json::to_string(HOSTILE).expect("json");
        let shown = json(&told);
        assert!(!shown.contains(is_invisible));
        assert_eq!(
            serde_json::from_str::<String>(&shown).expect("json"),
            HOSTILE
        );
    }
}

//! Patterns of a shell: `*` is any text, `?` any character, `[a-z]` one of some.

/// Whether a text fits a pattern. Takes time of the product of both lengths at most.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // Where to go on when the rest does not fit: behind the last star, one character later.
    let mut retry: Option<(&str, &str)> = None;
    loop {
        if let Some(behind) = pattern.strip_prefix('*') {
            (pattern, retry) = (behind, Some((behind, text)));
            continue;
        }
        let step = text.chars().next().and_then(|first| {
            let rest = &text[first.len_utf8()..];
            Some((one(pattern, first)?, rest))
        });
        if pattern.is_empty() && text.is_empty() {
            return true;
        }
        if let Some((next, rest)) = step {
            (pattern, text) = (next, rest);
            continue;
        }
        let Some((behind, from)) = retry else {
            return false;
        };
        let Some(skipped) = from.chars().next() else {
            return false;
        };
        let from = &from[skipped.len_utf8()..];
        (pattern, text, retry) = (behind, from, Some((behind, from)));
    }
}

/// The rest of a pattern behind what a character fits; nothing where it does not fit.
fn one(pattern: &str, character: char) -> Option<&str> {
    let mut rest = pattern.chars();
    match rest.next()? {
        '?' => Some(rest.as_str()),
        '[' => match set(rest.as_str(), character) {
            Some((true, behind)) => Some(behind),
            Some((false, _)) => None,
            // Without its end a bracket is itself.
            None => (character == '[').then_some(rest.as_str()),
        },
        '\\' if !rest.as_str().is_empty() => {
            (rest.next() == Some(character)).then_some(rest.as_str())
        }
        same => (same == character).then_some(rest.as_str()),
    }
}

/// Whether a character is in a set, whose opening bracket has been read, and what is behind it.
fn set(pattern: &str, character: char) -> Option<(bool, &str)> {
    let (negated, members) = match pattern.strip_prefix(['!', '^']) {
        Some(members) => (true, members),
        None => (false, pattern),
    };
    let mut is_in = false;
    let mut rest = members.chars();
    let mut is_first = true;
    loop {
        let from = rest.next()?;
        // A closing bracket right at the beginning is a member.
        if from == ']' && !is_first {
            return Some((is_in != negated, rest.as_str()));
        }
        is_first = false;
        let mut range = rest.clone();
        match (range.next(), range.next()) {
            (Some('-'), Some(to)) if to != ']' => {
                is_in |= (from..=to).contains(&character);
                rest = range;
            }
            _ => is_in |= from == character,
        }
    }
}

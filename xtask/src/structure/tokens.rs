//! Splits Rust source into words and punctuation; comments are dropped and literals are opaque.

/// A word, a literal, `::`, or one punctuation character.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// As in the source; literals with their quotes.
    pub text: &'a str,
    /// Counted from 1.
    pub line: usize,
}

impl Token<'_> {
    /// An identifier or a keyword.
    pub fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }
}

/// The tokens of a file.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < source.len() {
        let rest = &source[at..];
        let (kind, length) = next(rest);

        let text = &rest[..length];
        match kind {
            Kind::Blank => {}
            // A raw identifier is the identifier.
            Kind::Token => found.push(Token {
                text: text.trim_start_matches("r#"),
                line,
            }),
            Kind::Literal => found.push(Token { text, line }),
        }
        // Also within comments and strings: lines must agree with the source.
        line += text.bytes().filter(|byte| *byte == b'\n').count();
        at += length;
    }
    found
}

enum Kind {
    /// White space, comments and lifetimes: nothing that a path could be made of.
    Blank,
    Token,
    Literal,
}

/// The first piece of `rest`, which is not empty, and its length in bytes.
fn next(rest: &str) -> (Kind, usize) {
    let until = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());

    let first = rest.chars().next().expect("the rest is not empty");
    if first.is_whitespace() {
        return (Kind::Blank, first.len_utf8());
    }
    // The order matters: each test relies on those before it.
    if rest.starts_with("//") {
        return (Kind::Blank, until("\n"));
    }
    if rest.starts_with("/*") {
        return (Kind::Blank, block_comment(rest));
    }
    if rest.starts_with("::") {
        return (Kind::Token, 2);
    }
    // Before words: `r"..."` and `b"..."` begin with a letter.
    if let Some(length) = string(rest) {
        return (Kind::Literal, length);
    }
    if first == '\'' {
        return quoted(rest);
    }
    if first.is_ascii_digit() {
        return (Kind::Literal, word(rest));
    }

    let length = word(rest.trim_start_matches("r#"));
    if length > 0 {
        let raw = if rest.starts_with("r#") { 2 } else { 0 };
        return (Kind::Token, raw + length);
    }
    (Kind::Token, first.len_utf8())
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(rest.len())
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of a string literal with its prefix; nothing where none begins.
fn string(rest: &str) -> Option<usize> {
    let prefix = rest
        .find(|c| !"brc".contains(c))
        .filter(|length| *length <= 2)?;

    let raw = rest[..prefix].contains('r');
    let hashes = rest[prefix..].find(|c| c != '#')?;
    let open = prefix + hashes;
    // `r#name` is a raw identifier: its hash is followed by no quote.
    if !rest[open..].starts_with('"') || (hashes > 0 && !raw) {
        return None;
    }

    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(
            rest[open + 1..]
                .find(&end)
                .map_or(rest.len(), |at| open + 1 + at + end.len()),
        );
    }
    Some(open + 1 + escaped(&rest[open + 1..], b'"'))
}

/// The length up to and with the first `end` that no backslash precedes.
fn escaped(rest: &str, end: u8) -> usize {
    // Bytes will do: the bytes looked for are in no other character of UTF-8.
    let mut bytes = rest.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' {
            bytes.next();
        } else if byte == end {
            return at + 1;
        }
    }
    rest.len()
}

/// A character, or a lifetime.
fn quoted(rest: &str) -> (Kind, usize) {
    let mut after = rest[1..].chars();
    match (after.next(), after.next()) {
        (Some('\\'), _) => (Kind::Literal, 1 + escaped(&rest[1..], b'\'')),
        (Some(one), Some('\'')) => (Kind::Literal, 2 + one.len_utf8()),
        // No second quote: a lifetime.
        _ => (Kind::Blank, 1 + word(&rest[1..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_hide_their_words() {
        let source =
            "a::b /* x /* y */ z */ 'c' 'life \"in\\\"side\" r#\"raw\"# b'\\'' r#fn 1.5 // e\nf";
        let texts: Vec<&str> = tokens(source).iter().map(|token| token.text).collect();
        let expected = [
            "a",
            "::",
            "b",
            "'c'",
            "\"in\\\"side\"",
            "r#\"raw\"#",
            "b",
            "'\\''",
            "fn",
            "1",
            ".",
            "5",
            "f",
        ];
        assert_eq!(texts, expected);
        assert_eq!(tokens(source).last().unwrap().line, 2);
    }
}

//! Text that is HTML. Markup is what this crate has written in its source, and nothing else;
//! everything that is put between it is escaped.

use crate::terminal;

/// Characters of one name or sentence on the page: a sentence about a death is some hundred, a
/// name that a compiler made may be thousands.
const TEXT_CHARS_MAX: usize = 1_000;

/// A page, or a part of one, that grows.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Markup. `'static`, so that nothing that came from elsewhere can be given.
    pub fn markup(&mut self, ours: &'static str) -> &mut Html {
        self.0.push_str(ours);
        self
    }

    /// Text, of whoever it is, also within the quotes of an attribute. Characters that order or
    /// hide what follows are replaced, as in a terminal.
    pub fn text(&mut self, theirs: &str) -> &mut Html {
        let mut rest = theirs.chars();
        let cut: String = rest.by_ref().take(TEXT_CHARS_MAX).collect();
        for c in terminal::line(&cut).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        if rest.next().is_some() {
            self.0.push_str("...");
        }
        self
    }

    /// Text between two pieces of markup.
    pub fn element(&mut self, begin: &'static str, text: &str, end: &'static str) -> &mut Html {
        self.markup(begin).text(text).markup(end)
    }

    /// A number within an attribute: a length, a part of a whole.
    pub fn number(&mut self, number: f64) -> &mut Html {
        // At most two digits behind the point, and no zeros: a page has thousands of these.
        let text = format!("{:.2}", if number.is_finite() { number } else { 0.0 });
        let text = text.trim_end_matches('0').trim_end_matches('.');
        self.text(text)
    }

    /// An attribute that is a number, with a blank before it.
    pub fn attribute(&mut self, name: &'static str, number: f64) -> &mut Html {
        self.markup(" ").markup(name).markup("=\"");
        self.number(number).markup("\"")
    }

    /// The page.
    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        let mut html = Html::default();
        html.text(text);
        html.into_string()
    }

    #[test]
    fn text_is_no_markup() {
        assert_eq!(
            shown("<b onclick=\"x('&')\">\u{202e}a\x1b[2J\n"),
            "&lt;b onclick=&quot;x(&#39;&amp;&#39;)&quot;&gt;?a?[2J?"
        );
        assert_eq!(shown("größe 3 µs"), "größe 3 µs");
        assert_eq!(shown(&"<".repeat(5_000)).len(), 4 * TEXT_CHARS_MAX + 3);
    }

    #[test]
    fn numbers_are_short() {
        let mut html = Html::default();
        for number in [0.0, 12.0, 33.333, 0.1, f64::NAN] {
            html.number(number).markup(" ");
        }
        assert_eq!(html.into_string(), "0 12 33.33 0.1 0 ");
    }

    proptest! {
        #[test]
        fn nothing_of_theirs_opens_or_closes_markup(text in any::<String>()) {
            let shown = shown(&text);
            prop_assert!(!shown.contains(['<', '>', '"', '\'']));
            prop_assert!(!shown.contains(char::is_control));
            // Each `&` begins one of ours.
            let ours = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
            for (at, _) in shown.match_indices('&') {
                prop_assert!(ours.iter().any(|one| shown[at..].starts_with(one)));
            }
        }
    }
}

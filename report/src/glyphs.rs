//! Characters and colours by what a terminal can show: bars, shades, rules.

use std::ffi::OsString;

/// Characters and colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Nothing but ASCII.
    pub ascii: bool,
    /// Colours beside bold, dim and reversed.
    pub color: bool,
}

impl Look {
    /// Of the environment (`variable` gives a variable's value): UTF-8 where the locale says so,
    /// colours unless NO_COLOR is set to anything but nothing.
    pub fn of(ascii: bool, variable: impl Fn(&str) -> Option<OsString>) -> Look {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        // POSIX: the first of these that is set to something counts.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let utf8 = locale.is_some_and(|locale| {
            let locale = locale.to_string_lossy().to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Look {
            ascii: ascii || !utf8,
            color: set("NO_COLOR").is_none() && !dumb,
        }
    }

    /// A horizontal bar for `share` (0 to 1) of `width` columns.
    pub fn bar(self, share: f64, width: usize) -> String {
        let filled = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
        let (full, rest) = if self.ascii {
            ("#", ".")
        } else {
            ("█", "░")
        };
        full.repeat(filled) + &rest.repeat(width - filled)
    }

    /// A cell two columns wide that is the darker the larger `share` (0 to 1) is; nothing is a dot.
    pub fn shade(self, share: Option<f64>) -> &'static str {
        const UTF8: [&str; 4] = ["░░", "▒▒", "▓▓", "██"];
        const ASCII: [&str; 4] = ["--", "==", "%%", "##"];
        let Some(share) = share else {
            return if self.ascii { " ." } else { " ·" };
        };
        // The full share belongs to the last of the four.
        let level = ((share.clamp(0.0, 1.0) * 4.0) as usize).min(3);
        if self.ascii {
            ASCII[level]
        } else {
            UTF8[level]
        }
    }

    /// Between the parts of a line.
    pub fn separator(self) -> &'static str {
        if self.ascii { " | " } else { " │ " }
    }

    /// A rule behind a title.
    pub fn rule(self) -> &'static str {
        if self.ascii { "-" } else { "─" }
    }

    /// Text that this terminal can show.
    pub fn text(self, text: &str) -> String {
        // Command lines and notes come from elsewhere: an escape sequence in them
        // would steer the terminal.
        let shown = |c: char| !c.is_control() && (c.is_ascii() || !self.ascii);
        text.chars()
            .map(|c| if shown(c) { c } else { '?' })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ascii: bool, variables: &[(&str, &str)]) -> Look {
        Look::of(ascii, |name| {
            let value = variables.iter().find(|(other, _)| *other == name);
            value.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_locale_says_whether_there_is_more_than_ascii() {
        assert!(!of(false, &[("LANG", "de_DE.UTF-8")]).ascii);
        assert!(!of(false, &[("LANG", "C"), ("LC_CTYPE", "C.utf8")]).ascii);
        assert!(of(false, &[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]).ascii);
        assert!(!of(false, &[("LANG", "en_US.UTF-8"), ("LC_ALL", "")]).ascii);
        assert!(of(true, &[("LANG", "de_DE.UTF-8")]).ascii && of(false, &[]).ascii);
    }

    #[test]
    fn no_color_and_a_dumb_terminal_take_the_colours() {
        assert!(!of(false, &[("NO_COLOR", "1")]).color);
        assert!(of(false, &[("NO_COLOR", "")]).color && !of(false, &[("TERM", "dumb")]).color);
    }

    #[test]
    fn bars_and_shades_have_their_width() {
        for ascii in [false, true] {
            let look = Look { ascii, color: true };
            for share in [-1.0, 0.0, 0.3, 1.0, 7.0, f64::NAN] {
                assert_eq!(look.bar(share, 10).chars().count(), 10);
                assert_eq!(look.shade(Some(share)).chars().count(), 2);
            }
        }
        let ascii = Look {
            ascii: true,
            color: true,
        };
        assert_eq!(ascii.bar(0.5, 4), "##..");
        assert_eq!(ascii.text("größe\n"), "gr??e?");
    }
}

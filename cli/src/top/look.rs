//! How things are drawn on this terminal: which characters and which colours it has.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;
use std::ffi::OsString;

/// Characters and colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Nothing but ASCII.
    pub ascii: bool,
    /// Colours beside bold, dim and reversed.
    pub color: bool,
}

/// Heights of a column, for terminals without block characters.
const ASCII_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "*",
    five_eighths: "+",
    half: "=",
    three_eighths: "-",
    one_quarter: ":",
    one_eighth: ".",
    empty: " ",
};

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

    /// Columns of eight heights.
    pub fn bars(self) -> bar::Set<'static> {
        if self.ascii {
            ASCII_BARS
        } else {
            bar::NINE_LEVELS
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
        let shown = |c: char| !c.is_control() && (c.is_ascii() || !self.ascii);
        text.chars()
            .map(|c| if shown(c) { c } else { '?' })
            .collect()
    }

    fn colored(self, color: Color) -> Style {
        if self.color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    /// All is well.
    pub fn good(self) -> Style {
        self.colored(Color::Green)
    }

    /// Worth a look.
    pub fn warning(self) -> Style {
        self.colored(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// Not as it should be.
    pub fn bad(self) -> Style {
        self.colored(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What stands beside the matter.
    pub fn aside(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// A title.
    pub fn title(self) -> Style {
        self.colored(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Columns and bars.
    pub fn data(self) -> Style {
        self.colored(Color::Cyan)
    }

    /// The bar that is always there.
    pub fn bar_line(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
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
    fn no_color_takes_the_colours_and_leaves_bold() {
        let plain = of(false, &[("NO_COLOR", "1")]);
        assert_eq!(plain.bad(), Style::new().add_modifier(Modifier::BOLD));
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

//! The colours of the screen, on terminals that have some, and the columns of its charts.

use invivo_report::glyphs::Look;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;

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

/// How parts of the screen are coloured.
pub trait Palette {
    /// All is well.
    fn good(self) -> Style;
    /// Worth a look.
    fn warning(self) -> Style;
    /// Not as it should be.
    fn bad(self) -> Style;
    /// Secondary text.
    fn aside(self) -> Style;
    /// A title.
    fn title(self) -> Style;
    /// Columns and bars.
    fn data(self) -> Style;
    /// The bar that is always there.
    fn bar_line(self) -> Style;
    /// Columns of eight heights.
    fn bars(self) -> bar::Set<'static>;
}

impl Palette for Look {
    fn good(self) -> Style {
        colored(self, Color::Green)
    }

    fn warning(self) -> Style {
        colored(self, Color::Yellow).add_modifier(Modifier::BOLD)
    }

    fn bad(self) -> Style {
        colored(self, Color::Red).add_modifier(Modifier::BOLD)
    }

    fn aside(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn title(self) -> Style {
        colored(self, Color::Cyan).add_modifier(Modifier::BOLD)
    }

    fn data(self) -> Style {
        colored(self, Color::Cyan)
    }

    fn bar_line(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn bars(self) -> bar::Set<'static> {
        if self.ascii {
            ASCII_BARS
        } else {
            bar::NINE_LEVELS
        }
    }
}

fn colored(look: Look, color: Color) -> Style {
    if look.color {
        Style::new().fg(color)
    } else {
        Style::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_takes_the_colours_and_leaves_bold() {
        let plain = Look::of(false, |name| (name == "NO_COLOR").then(|| "1".into()));
        assert_eq!(plain.bad(), Style::new().add_modifier(Modifier::BOLD));
    }
}

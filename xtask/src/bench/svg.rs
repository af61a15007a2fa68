//! Draws bar charts as SVG: groups of horizontal bars with their bounds, in as many colours as
//! there are series.
//! They are small enough to be read as text, and the same figures give the same file.

use std::fmt::Write as _;

/// One bar with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Index of the series, which gives the colour.
    pub series: usize,
    pub value: f64,
    /// Bounds, drawn as a thin line across the bar.
    pub bounds: (f64, f64),
}

/// Bars that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Text to the left of the bars.
    pub label: String,
    /// From above.
    pub bars: Vec<Bar>,
}

/// A chart with its title, axis and groups.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Title above the chart.
    pub title: String,
    /// Unit of its numbers.
    pub unit: &'static str,
    /// Names of the series; a single one has no legend.
    pub series: Vec<String>,
    /// Groups from above.
    pub groups: Vec<Group>,
    /// A line across with its name, such as a target.
    pub mark: Option<(f64, &'static str)>,
}

const WIDTH: f64 = 760.0;
/// Width for labels, and for numbers behind the longest bar.
const LEFT: f64 = 200.0;
const RIGHT: f64 = 70.0;
const BAR: f64 = 11.0;
const GAP: f64 = 9.0;
/// Colours that differ in brightness, too.
const COLOURS: [&str; 6] = [
    "#1b5e8a", "#e08214", "#7fb3d5", "#6a9a3b", "#b2182b", "#888888",
];

impl Chart {
    /// The chart as the text of a file.
    pub fn svg(&self) -> String {
        let bars: usize = self.groups.iter().map(|group| group.bars.len()).sum();
        let legend = if self.series.len() > 1 { 20.0 } else { 0.0 };
        let top = 34.0 + legend;
        let bottom = top + bars as f64 * BAR + self.groups.len() as f64 * GAP;
        let height = bottom + 34.0;

        let (least, step, most) = self.axis();
        let x = |value: f64| LEFT + (value - least) / (most - least) * (WIDTH - LEFT - RIGHT);

        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{height:.0}\" fill=\"white\"/>\n"
        );
        text(
            &mut out,
            10.0,
            20.0,
            "start",
            &format!("{} [{}]", self.title, self.unit),
        );

        self.legend(&mut out);
        let ticks = ((most - least) / step).round() as i32;
        for tick in 0..=ticks {
            let value = least + f64::from(tick) * step;
            line(&mut out, x(value), top - 4.0, x(value), bottom, "#dddddd");
            text(&mut out, x(value), bottom + 14.0, "middle", &short(value));
        }

        let mut y = top;
        for group in &self.groups {
            let middle = y + group.bars.len() as f64 * BAR / 2.0 + 4.0;
            text(&mut out, LEFT - 8.0, middle, "end", &group.label);
            // From zero to the value: negative bars go to the left.
            for bar in &group.bars {
                let (from, to) = (x(bar.value.min(0.0)), x(bar.value.max(0.0)));
                let colour = COLOURS[bar.series % COLOURS.len()];

                let _ = writeln!(
                    out,
                    "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                     fill=\"{colour}\"/>",
                    to - from,
                    BAR - 2.0
                );

                let at = y + (BAR - 2.0) / 2.0;
                line(
                    &mut out,
                    x(bar.bounds.0),
                    at,
                    x(bar.bounds.1),
                    at,
                    "#222222",
                );

                // Behind whatever reaches farthest, so that the number covers nothing.
                let behind = x(bar.bounds.1.max(bar.value).max(0.0)) + 5.0;
                text(&mut out, behind, y + BAR - 2.0, "start", &short(bar.value));
                y += BAR;
            }
            y += GAP;
        }
        // Over the bars, which it separates by sign.
        line(&mut out, x(0.0), top - 4.0, x(0.0), bottom, "#222222");
        if let Some((value, name)) = self.mark {
            line(&mut out, x(value), top - 4.0, x(value), bottom, "#b2182b");
            text(&mut out, x(value), bottom + 28.0, "middle", name);
        }
        out + "</svg>\n"
    }

    fn legend(&self, out: &mut String) {
        if self.series.len() < 2 {
            return;
        }
        let mut at = LEFT;
        for (series, name) in self.series.iter().enumerate() {
            let colour = COLOURS[series % COLOURS.len()];
            let _ = writeln!(
                out,
                "<rect x=\"{at:.1}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{colour}\"/>"
            );
            text(out, at + 14.0, 37.0, "start", name);
            // Estimated: SVG gives no width of a text.
            at += 28.0 + 6.0 * name.chars().count() as f64;
        }
    }

    /// The least value, the step and the greatest value of the axis: round numbers around all bars,
    /// bounds and the mark.
    fn axis(&self) -> (f64, f64, f64) {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        let ends = bars.flat_map(|bar| [bar.value, bar.bounds.0, bar.bounds.1]);
        let all: Vec<f64> = ends
            .chain(self.mark.map(|mark| mark.0))
            // Bars begin at zero.
            .chain([0.0])
            .collect();
        let (low, high) = (
            all.iter().copied().fold(0.0, f64::min),
            all.iter().copied().fold(1e-9, f64::max),
        );

        // Some six ticks, at 1, 2 or 5 times a power of ten.
        let rough = (high - low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        let step = step
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(10.0 * power);

        (
            (low / step).floor() * step,
            step,
            (high / step).ceil() * step,
        )
    }
}

fn line(out: &mut String, x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    // `>` may stand in SVG as it is.
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// A number with as many digits as are meaningful, in groups of three.
pub fn short(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        small if small < 1.0 => 2,
        small if small < 10.0 => 1,
        _ => 0,
    };
    let shown = format!("{value:.digits$}");

    let mut grouped = String::new();
    let whole = shown
        .split('.')
        .next()
        .unwrap_or("")
        .trim_start_matches('-')
        .len();
    let sign = usize::from(shown.starts_with('-'));

    // A comma before every third digit of the whole part, counted from its end.
    for (at, letter) in shown.chars().enumerate() {
        let left = (whole + sign).saturating_sub(at);
        if at > sign && at < whole + sign && left % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(letter);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.0123, 3.123, 42.4, 999.9, 1234.5, -1234567.0, -3.21].map(short);
        assert_eq!(
            shown,
            [
                "0",
                "0.01",
                "3.1",
                "42",
                "1,000",
                "1,234",
                "-1,234,567",
                "-3.2"
            ]
        );
    }

    #[test]
    fn charts_hold_their_bars() {
        let bar = |value: f64| Bar {
            series: 0,
            value,
            bounds: (value - 1.0, value + 1.0),
        };
        let chart = Chart {
            title: "a < b".into(),
            unit: "ns",
            series: vec!["one".into()],
            groups: vec![Group {
                label: "first & last".into(),
                bars: vec![bar(-2.0), bar(40.0)],
            }],
            mark: Some((28.0, "target")),
        };
        assert_eq!(chart.axis(), (-10.0, 10.0, 50.0));
        let svg = chart.svg();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(
            svg.contains("first &amp; last")
                && svg.contains("a &lt; b")
                && svg.contains(">target<")
        );
        // The second bar is as long as from 0 to 40 on an axis of 60.
        let width = 40.0 / 60.0 * (WIDTH - LEFT - RIGHT);
        assert!(svg.contains(&format!("width=\"{width:.1}\"")), "{svg}");
    }
}

//! The cap on the measurement's overhead, as an option: `2%`, or `off`.

use super::value::Value;
use invivo_proto::control::overhead::{NoCap, OverheadCap};
use serde_json::json;

/// The most that the measurement takes of the ranks' time; nothing is no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead(pub Option<OverheadCap>);

impl Value for Overhead {
    fn parse(text: &str) -> Result<Overhead, String> {
        match text {
            "off" | "false" | "no" | "" => Ok(Overhead(None)),
            _ => {
                let cap = text.parse().map_err(|error: NoCap| error.to_string())?;
                Ok(Overhead(Some(cap)))
            }
        }
    }

    fn text(&self) -> String {
        match self.0 {
            Some(cap) => cap.to_string(),
            None => "off".to_owned(),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.map(OverheadCap::share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_a_share_or_off() {
        let read = |text| <Overhead as Value>::parse(text).map(|cap| cap.text());
        assert_eq!(read("2 %"), Ok("2%".to_owned()));
        for off in ["off", "", "no"] {
            assert_eq!(read(off), Ok("off".to_owned()), "{off}");
        }
        let refused = read("2").expect_err("no share");
        assert!(refused.contains("such as 2%"), "{refused}");
    }
}

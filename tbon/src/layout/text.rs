//! Writes and parses the layout as text, for tool processes: `8:2,2:tail` is eight ranks, two per
//! place, two members per node, on one host; `8:2,2:nodes=2` the same on two hosts.

use super::{Layout, LayoutError, Policy};
use core::fmt;
use core::str::FromStr;

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Tail => f.write_str("tail"),
            Policy::PerNode { hosts } => write!(f, "nodes={hosts}"),
        }
    }
}

impl FromStr for Policy {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Policy, LayoutError> {
        match text.split_once('=') {
            None if text == "tail" => Ok(Policy::Tail),
            Some(("nodes", hosts)) => {
                let hosts = hosts.parse().map_err(|_| LayoutError::Text)?;
                Ok(Policy::PerNode { hosts })
            }
            _ => Err(LayoutError::Text),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.app(), self.fan_in(), self.policy())
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Layout, LayoutError> {
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().ok_or(LayoutError::Text);
        let app = part()?.parse().map_err(|_| LayoutError::Text)?;
        Layout::for_app(app, part()?.parse()?, part()?.parse()?)
    }
}

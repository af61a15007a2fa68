//! Why endpoints that another place hands over are not used.

use invivo_proto::control::VERSION;
use invivo_proto::control::peer::ENDPOINTS_MAX;

/// Why a message of another place is not used, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It has another version.
    Version(u32),
    /// It holds more endpoints than one message may.
    Long(usize),
    /// So many of its endpoints are for ranks that are not below this place.
    Foreign(usize),
}

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Refused::Version(found) => write!(f, "version {found} instead of {VERSION}"),
            Refused::Long(endpoints) => {
                write!(
                    f,
                    "{endpoints} endpoints in one message, at most {ENDPOINTS_MAX} allowed"
                )
            }
            Refused::Foreign(endpoints) => {
                write!(f, "{endpoints} endpoints for ranks of other places")
            }
        }
    }
}

impl core::error::Error for Refused {}

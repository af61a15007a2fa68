//! What all users of perf events share: why the kernel refuses one.

use rustix::io::Errno;
use std::io;

const SETTING: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Why an event cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// By the kernel's setting, or because the process is somebody else's.
    Forbidden {
        /// The setting.
        paranoid: i8,
    },
    /// No memory or descriptors are left.
    NoRoom,
    /// The thread has ended.
    Ended,
    /// The machine does not count it, or the kernel cannot.
    Unsupported,
}

/// Why an event could not be opened.
pub fn refusal(error: &io::Error) -> Refusal {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => Refusal::Forbidden {
            paranoid: paranoid(),
        },
        Some(Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::NOSPC) => {
            Refusal::NoRoom
        }
        Some(Errno::SRCH) => Refusal::Ended,
        // Others, as ENOENT, ENODEV, ENOSYS, EOPNOTSUPP and E2BIG, are about what is asked for.
        _ => Refusal::Unsupported,
    }
}

/// The kernel's setting; where it cannot be read, its value is not what forbids it.
pub fn paranoid() -> i8 {
    let text = std::fs::read_to_string(SETTING).unwrap_or_default();
    let value: i64 = text.trim().parse().unwrap_or(0);
    value.clamp(i64::from(i8::MIN), i64::from(i8::MAX)) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_have_reasons() {
        let of = |errno: Errno| refusal(&errno.into());
        let forbidden = Refusal::Forbidden {
            paranoid: paranoid(),
        };
        for (errno, expected) in [
            (Errno::ACCESS, forbidden),
            (Errno::PERM, forbidden),
            (Errno::NOSYS, Refusal::Unsupported),
            (Errno::NOENT, Refusal::Unsupported),
            (Errno::NODEV, Refusal::Unsupported),
            (Errno::OPNOTSUPP, Refusal::Unsupported),
            (Errno::MFILE, Refusal::NoRoom),
            (Errno::NOMEM, Refusal::NoRoom),
            (Errno::SRCH, Refusal::Ended),
        ] {
            assert_eq!(of(errno), expected, "{errno:?}");
        }
        let other = io::Error::other("an option that this kernel does not know");
        assert_eq!(refusal(&other), Refusal::Unsupported);
    }
}

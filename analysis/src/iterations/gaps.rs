//! Tells long gaps between calls from short ones, without knowing how long they are.

/// Two means, each of which follows the values that are nearer to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    short_ns: u64,
    long_ns: u64,
}

impl Gaps {
    /// Whether a gap is one of the long ones. Where all are about as long as each other, none is.
    #[inline(always)]
    pub fn is_long(&mut self, ns: u64) -> bool {
        if self.long_ns == 0 {
            let ns = ns.max(1);
            (self.short_ns, self.long_ns) = (ns, ns);
            return false;
        }
        let middle = self.short_ns / 2 + self.long_ns / 2;
        let is_upper = ns > middle;
        if is_upper {
            self.long_ns = nearer(self.long_ns, ns);
        } else {
            self.short_ns = nearer(self.short_ns, ns);
        }
        is_upper && self.long_ns / 2 > self.short_ns
    }
}

/// A quarter of the way.
#[inline(always)]
fn nearer(mean: u64, to: u64) -> u64 {
    mean - mean / 4 + to / 4
}

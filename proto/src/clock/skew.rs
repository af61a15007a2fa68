//! Makes the clocks of a node run unlike those of others, for tests on hosts of one kernel.
//!
//! Only builds with the feature `test-hooks` ask for it. A skew is a function of the true clocks
//! alone, so that all processes of a node show the same time without a message:
//!
//! ```text
//! SKEWED_CLOCKS=EPOCH_NS/EPOCH_TICKS/KHZ;NODE:TERM,TERM...;NODE:...
//!
//! offset=NS         the clocks show so much more
//! ppm=PPM           both clocks run so much faster, from the epoch on
//! drift=PPM         and by so much more with every second
//! step=NS@AT_NS     both clocks jump when CLOCK_MONOTONIC truly shows AT_NS
//! slew=PPM@FROM_NS..TO_NS   CLOCK_MONOTONIC alone runs so much faster in between
//! ```

/// The environment variable. Not one of ours by its name: those are kept from the program, and with
/// it from the library that is preloaded into it.
pub const VARIABLE: &str = "SKEWED_CLOCKS";
const MILLION: i128 = 1_000_000;
const SECOND: i128 = 1_000_000_000;

/// A point at which both true clocks were read, and the rate of the ticks: the same for all nodes
/// of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// `CLOCK_MONOTONIC`.
    pub ns: i128,
    /// The processor's counter.
    pub ticks: i128,
    /// Ticks per millisecond.
    pub khz: i128,
}

/// How the clocks of a node run; by default as they truly do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skew {
    epoch: Option<Epoch>,
    offset_ns: i128,
    ppm: i128,
    drift_ppm: i128,
    step: Option<(i128, i128)>,
    slew: Option<(i128, i128, i128)>,
    identity: u128,
}

impl Skew {
    /// That of the node with this name; nothing where the text is not as above.
    pub fn of(text: &str, node: &str) -> Option<Skew> {
        let mut words = text.split(';');
        let mut epoch = words.next()?.split('/').map(str::parse);
        let mut number = || epoch.next()?.ok();
        let epoch = Epoch {
            ns: number()?,
            ticks: number()?,
            khz: number().filter(|&khz| khz > 0)?,
        };
        let mut skew = Skew {
            epoch: Some(epoch),
            identity: identity(node),
            ..Skew::default()
        };
        for word in words {
            let (name, terms) = word.split_once(':')?;
            if name == node {
                terms.split(',').try_for_each(|term| skew.add(term))?;
            }
        }
        Some(skew)
    }

    fn add(&mut self, term: &str) -> Option<()> {
        let (name, value) = term.split_once('=')?;
        match name {
            "offset" => self.offset_ns = value.parse().ok()?,
            "ppm" => self.ppm = value.parse().ok()?,
            "drift" => self.drift_ppm = value.parse().ok()?,
            "step" => {
                let (ns, at) = value.split_once('@')?;
                self.step = Some((ns.parse().ok()?, at.parse().ok()?));
            }
            "slew" => {
                let (ppm, when) = value.split_once('@')?;
                let (from, to) = when.split_once("..")?;
                self.slew = Some((ppm.parse().ok()?, from.parse().ok()?, to.parse().ok()?));
            }
            _ => return None,
        }
        Some(())
    }

    /// What `CLOCK_MONOTONIC` shows on the node when it truly shows `ns`.
    pub fn ns(&self, ns: u64) -> u64 {
        let at = i128::from(ns);
        let slewed = self.slew.map_or(0, |(ppm, from, to)| {
            (at.clamp(from, to.max(from)) - from) * ppm / MILLION
        });
        shifted(ns, self.crystal(at) + slewed)
    }

    /// What the processor's counter shows on the node when it truly shows `ticks`. The first value
    /// of a counter means nothing, so that the offset need not be the same time.
    pub fn ticks(&self, ticks: u64) -> u64 {
        let Some(epoch) = self.epoch else {
            return ticks;
        };
        let since = i128::from(ticks) - epoch.ticks;
        let at = epoch.ns + since * MILLION / epoch.khz;
        shifted(ticks, self.crystal(at) * epoch.khz / MILLION)
    }

    /// How far ahead the node's crystal has brought both clocks by the true time `at`, in ns.
    fn crystal(&self, at: i128) -> i128 {
        let Some(epoch) = self.epoch else {
            return 0;
        };
        let age = (at - epoch.ns).max(0);
        let stepped = self
            .step
            .map_or(0, |(ns, from)| if at >= from { ns } else { 0 });
        self.offset_ns
            + stepped
            + age * self.ppm / MILLION
            + age * age / SECOND * self.drift_ppm / (2 * MILLION)
    }

    /// The running system, as such a node names it: hosts of one kernel count as systems apart.
    pub fn system(&self, system: u128) -> u128 {
        system ^ self.identity
    }
}

/// How the clocks of this node run. The first call reads a variable and a file.
///
/// # Panics
/// When the variable is set to something else.
#[cfg(feature = "std")]
pub fn here() -> &'static Skew {
    static HERE: std::sync::OnceLock<Skew> = std::sync::OnceLock::new();
    HERE.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(text) => {
            let node = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let skew = Skew::of(&text, node.trim());
            skew.unwrap_or_else(|| panic!("{VARIABLE} is no skew: {text:?}"))
        }
        Err(_) => Skew::default(),
    })
}

/// The processor's counter, as this node shows it.
#[cfg(feature = "std")]
pub fn tsc() -> u64 {
    here().ticks(super::tsc())
}

fn shifted(time: u64, by: i128) -> u64 {
    (i128::from(time) + by).clamp(0, i128::from(u64::MAX)) as u64
}

/// A number made of a node's name (FNV-1a).
fn identity(node: &str) -> u128 {
    node.bytes()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |sum, byte| {
            (sum ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;

    const S: u64 = 1_000_000_000;
    const EPOCH: &str = "10000000000/77000000000/2000000";

    fn of(terms: &str) -> Skew {
        let text = format!("{EPOCH};other:ppm=9;here:{terms}");
        Skew::of(&text, "here").expect("a skew")
    }

    #[test]
    fn terms_add_up() {
        assert_eq!(of("offset=-5").ns(20 * S), 20 * S - 5);
        assert_eq!(of("ppm=100").ns(20 * S), 20 * S + 1_000_000);
        assert_eq!(of("drift=10").ns(20 * S), 20 * S + 500_000);
        let step = of("step=50@20000000000,offset=1");
        assert_eq!(
            (step.ns(20 * S - 1), step.ns(20 * S)),
            (20 * S, 20 * S + 51)
        );
        let slew = of("slew=500@20000000000..30000000000");
        let shown = [15, 20, 21, 30, 40].map(|s| slew.ns(s * S) - s * S);
        assert_eq!(shown, [0, 0, 500_000, 5_000_000, 5_000_000]);
        assert_eq!(
            slew.ticks(200 * S),
            200 * S,
            "a slew leaves the counter alone"
        );
    }

    #[test]
    fn other_nodes_and_no_skew_are_true() {
        let other = Skew::of(&format!("{EPOCH};here:ppm=9"), "there").expect("a skew");
        assert_eq!((other.ns(5), other.ticks(5)), (5, 5));
        let none = Skew::default();
        assert_eq!((none.ns(5), none.ticks(5), none.system(5)), (5, 5, 5));
        assert_ne!(
            other.system(5),
            of("ppm=9").system(5),
            "each node is a system"
        );
    }

    #[test]
    fn what_is_no_skew_is_refused() {
        let bad = [
            "",
            "1/2",
            "1/2/0",
            "1/2/3;here",
            "1/2/3;here:ppm",
            "1/2/3;here:ppm=x",
        ];
        for text in bad.into_iter().map(String::from) {
            assert_eq!(Skew::of(&text, "here"), None, "{text}");
        }
    }

    proptest! {
        /// Both clocks run as one crystal makes them, and never back.
        #[test]
        fn both_clocks_run_alike(
            ppm in -500i64..500, drift in -5i64..5, step in 0u64..S, s in 0u64..1000,
        ) {
            let skew = of(&format!("ppm={ppm},drift={drift},step={step}@60000000000"));
            let (ns, ticks) = (10 * S + s * S, 77 * S + s * 2 * S);
            let (ahead_ns, ahead_ticks) = (
                i128::from(skew.ns(ns)) - i128::from(ns),
                i128::from(skew.ticks(ticks)) - i128::from(ticks),
            );
            prop_assert!((2 * ahead_ns - ahead_ticks).abs() <= 2);
            prop_assert!(skew.ns(ns + 1000) > skew.ns(ns));
            prop_assert!(skew.ticks(ticks + 1000) > skew.ticks(ticks));
        }
    }
}

//! Numbers the loaded files that call sites and instrumented functions are in.

use super::definitions::define;
use crate::resolve::modules::Module;
use crate::spin_lock::SpinLock;
use invivo_proto::definition::{Definition, MODULES_MAX};

/// Numbers given so far. A file is known by where it lies and by what it is, so that one that was
/// loaded in the place of another is another.
struct Numbers {
    modules: u32,
    known: [(usize, u64); MODULES_MAX as usize],
}

static NUMBERS: SpinLock<Numbers> = SpinLock::new(Numbers {
    modules: 0,
    known: [(0, 0); MODULES_MAX as usize],
});

/// The number of a file, of which the place is told when it is new; 0 where there are too many.
pub fn number(module: &Module) -> u32 {
    let (path, build_id) = (module.path.get(), module.build_id.get());
    let key = (module.bias, hash(path.iter().chain(build_id)));
    NUMBERS.with(|numbers| {
        for (known, number) in numbers.known.iter().zip(1..=numbers.modules) {
            if *known == key {
                return number;
            }
        }
        let Some(new) = numbers.known.get_mut(numbers.modules as usize) else {
            return 0;
        };
        *new = key;
        numbers.modules += 1;
        define(&Definition::Module {
            number: numbers.modules,
            build_id,
            path,
        });
        numbers.modules
    })
}

/// Tells byte strings apart (FNV-1a).
pub fn hash<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

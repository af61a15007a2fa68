//! Numbers the loaded files that call sites and instrumented functions are in.

use super::definitions::define;
use crate::resolve::modules::Module;
use crate::spin_lock::SpinLock;
use core::hash::Hasher;
use invivo_proto::definition::{Definition, MODULES_MAX};
use rustc_hash::FxHasher;

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
    let mut hasher = FxHasher::default();
    hasher.write(path);
    hasher.write(build_id);
    let key = (module.bias, hasher.finish());
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

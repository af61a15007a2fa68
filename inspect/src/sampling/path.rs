//! The call path of a sample: places in files, without their names yet.
//!
//! ```text
//! Walker    unwinds a sample with the registers and the part of the stack that came with it
//! path      what is kept of the frames, outermost first
//! ```

use crate::frames::{At, Frames, Go};
use crate::mapped::{MappedFile, is_shim};
use crate::memory::ProcessMemory;
use crate::sampling::record::Sample;
use invivo_analysis::call_paths::shortened;
use invivo_proto::control::local::{BUILD_ID_BYTES_MAX, Module, PATH_BYTES_MAX};
use std::collections::BTreeMap;

/// Frames that a path is followed through: as many as the part of a stack can have.
const FRAMES_MAX: usize = 512;
/// Files that paths go through; code in others is in none.
const MODULES_MAX: usize = 4096;

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Callers that are not known.
    Lost,
    /// Steps that are left out.
    LeftOut,
    /// Code in a file, by its number: an address as the file was linked for.
    Code { module: u32, offset: u64 },
    /// Code in no file, or in one that is not named.
    Nowhere,
    /// The kernel.
    Kernel,
}

/// Files that paths go through, by number.
#[derive(Default)]
pub struct Modules(Vec<Module>);

impl Modules {
    /// The file of a number.
    pub fn get(&self, number: u32) -> Option<&Module> {
        self.0.get(number as usize)
    }

    /// The number of a file; nothing where there is no room for it.
    pub fn number(&mut self, module: Module) -> Option<u32> {
        let known = self.0.iter().position(|known| *known == module);
        if known.is_none() {
            if self.0.len() >= MODULES_MAX || module.path.len() > PATH_BYTES_MAX {
                return None;
            }
            self.0.push(module);
        }
        u32::try_from(known.unwrap_or(self.0.len() - 1)).ok()
    }
}

/// Follows paths through the files that are mapped now.
pub struct Walker<'a> {
    frames: Frames<'a>,
    /// Numbers of files that were met, and how far their addresses are from those that they were
    /// linked for.
    numbers: BTreeMap<&'a str, Option<(u32, u64)>>,
    walked: Vec<At<'a>>,
}

impl<'a> Walker<'a> {
    pub fn new(
        memory: &'a ProcessMemory,
        files: &'a BTreeMap<&'a str, MappedFile<'a>>,
    ) -> Walker<'a> {
        Walker {
            frames: Frames::new(memory, files),
            numbers: BTreeMap::new(),
            walked: Vec::new(),
        }
    }

    /// The path of a sample; false where it leads into code in no file that is known.
    pub fn walk(&mut self, sample: &Sample<'_>, modules: &mut Modules) -> (Vec<Step>, bool) {
        let Some(registers) = sample.registers else {
            let step = if sample.is_kernel {
                Step::Kernel
            } else {
                Step::Nowhere
            };
            return (vec![step], true);
        };
        let mut walked = std::mem::take(&mut self.walked);
        walked.clear();
        let read = |at| sample.word(at);
        let is_whole = self
            .frames
            .unwind(registers, false, FRAMES_MAX, read, |at| {
                walked.push(at);
                Go::On
            });
        let frames: Vec<(bool, Step)> = walked
            .iter()
            .map(|at| (at.path.is_some_and(is_shim), self.step(*at, modules)))
            .collect();
        let is_known = walked.iter().all(|at| at.path.is_some());
        self.walked = walked;
        (path(&frames, is_whole, sample.is_kernel), is_known)
    }

    fn step(&mut self, at: At<'a>, modules: &mut Modules) -> Step {
        let Some(path) = at.path else {
            return Step::Nowhere;
        };
        let known = self.numbers.get(path).copied();
        let known = known.unwrap_or_else(|| {
            let place = self.frames.place(path);
            let number = place.and_then(|place| {
                let mut build_id = place.build_id.clone();
                build_id.truncate(BUILD_ID_BYTES_MAX);
                let path = place.path.to_owned();
                Some((modules.number(Module { path, build_id })?, place.bias?))
            });
            self.numbers.insert(path, number);
            number
        });
        known.map_or(Step::Nowhere, |(module, bias)| Step::Code {
            module,
            offset: at.address.wrapping_sub(bias),
        })
    }
}

/// The path of frames that are given innermost first, each with whether it is the shim's.
fn path(frames: &[(bool, Step)], is_whole: bool, is_kernel: bool) -> Vec<Step> {
    let mut path = Vec::with_capacity(frames.len() + 2);
    if !is_whole {
        path.push(Step::Lost);
    }
    // Our wrapper stands between the application and the library, and is neither. What it costs
    // itself is seen.
    let kept = |(at, (is_shim, _)): &(usize, &(bool, Step))| *at == 0 || !is_shim;
    let frames = frames.iter().enumerate().rev().filter(kept);
    path.extend(frames.map(|(_, (_, step))| *step));
    if is_kernel {
        path.push(Step::Kernel);
    }
    shortened(path, Step::LeftOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> Step {
        Step::Code { module: 0, offset }
    }

    #[test]
    fn the_shim_is_seen_only_where_the_thread_is() {
        let (own, shim, outer) = ((true, at(1)), (true, at(2)), (false, at(3)));
        let inner = (false, at(4));
        for (frames, is_whole, is_kernel, expected) in [
            (vec![own, shim, outer], true, false, vec![at(3), at(1)]),
            (vec![inner, shim, outer], true, false, vec![at(3), at(4)]),
            (
                vec![own, shim, outer],
                false,
                true,
                vec![Step::Lost, at(3), at(1), Step::Kernel],
            ),
            (vec![], false, true, vec![Step::Lost, Step::Kernel]),
        ] {
            assert_eq!(path(&frames, is_whole, is_kernel), expected);
        }
    }
}

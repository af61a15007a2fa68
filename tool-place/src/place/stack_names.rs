//! Caches functions and lines of code addresses, as resolved by the supervisors.

use invivo_analysis::stacks::{Path, Thread};
use invivo_proto::control::local::{Module, Named, PythonFunction, Step, UnwoundThread};
use invivo_proto::control::stacks::Frame;
use std::collections::{BTreeMap, BTreeSet};

/// Addresses whose names are kept, about 2 MB: a job is at some hundred places.
const NAMES_MAX: usize = 8192;

/// Addresses of files, by the files' numbers here.
type Address = (usize, u64);

/// Names so far, and those that are requested.
#[derive(Default)]
pub struct StackNames {
    modules: Vec<Module>,
    names: BTreeMap<Address, Vec<Named>>,
    /// Requested and not here yet: only these are stored, so that no supervisor can fill the cache.
    wanted: BTreeSet<Address>,
}

/// The file and the address of a step.
pub fn code(walked: &UnwoundThread, step: Step) -> Option<(&Module, u64)> {
    match step {
        Step::Code { module, offset } => Some((walked.modules.get(usize::from(module))?, offset)),
        Step::Nowhere | Step::LeftOut | Step::Python { .. } => None,
    }
}

impl StackNames {
    /// Forgets everything when there is too much of it: what is still of use is soon asked for
    /// again.
    pub fn make_room(&mut self) {
        if self.names.len() + self.wanted.len() > NAMES_MAX {
            *self = StackNames::default();
        }
    }

    /// Whether it is known what is at an address.
    pub fn has(&self, address: Address) -> bool {
        self.names.contains_key(&address)
    }

    /// Notes that these addresses are requested.
    pub fn want(&mut self, addresses: &BTreeSet<Address>) {
        self.wanted.extend(addresses);
    }

    /// A supervisor knows what is at these addresses of a file.
    pub fn learn(&mut self, module: &Module, named: &[(u64, Vec<Named>)]) {
        let Some(of) = self.known_number(module) else {
            return;
        };
        for (offset, functions) in named {
            let address = (of, *offset);
            if self.wanted.remove(&address) {
                self.names.insert(address, functions.clone());
            }
        }
    }

    /// What is at an address, where that is known.
    pub fn at(&self, address: Address) -> Option<&[Named]> {
        self.names.get(&address).map(Vec::as_slice)
    }

    /// The file of a number.
    pub fn module(&self, number: usize) -> &Module {
        &self.modules[number]
    }

    /// The number of a file, if it has one.
    pub fn known_number(&self, module: &Module) -> Option<usize> {
        self.modules.iter().position(|known| known == module)
    }

    /// The number of a file.
    pub fn number(&mut self, module: &Module) -> usize {
        self.known_number(module).unwrap_or_else(|| {
            self.modules.push(module.clone());
            self.modules.len() - 1
        })
    }

    /// What was seen of a thread, with names.
    pub fn thread(&self, walked: UnwoundThread) -> Thread {
        let mut path = Path::new();
        let mut unnamed = false;
        // The path begins outermost here, so what is missing of it comes first.
        if !walked.path.is_empty() && !walked.is_whole {
            path.push((Frame::Lost, None));
        }
        for step in walked.path.iter().rev() {
            match (code(&walked, *step), step) {
                (Some((module, offset)), _) => unnamed |= !self.name(module, offset, &mut path),
                (None, Step::LeftOut) => path.push((Frame::LeftOut, None)),
                (None, Step::Python { function }) => {
                    path.extend(walked.python.get(usize::from(*function)).map(python));
                }
                (None, _) => path.push((function("", ""), None)),
            }
        }
        Thread {
            way: walked.way,
            path,
            stop_ns: walked.stop_ns,
            unnamed,
            no_python: walked.no_python,
        }
    }

    /// Adds the functions at an address, the outermost first; false where they are not known yet.
    fn name(&self, module: &Module, offset: u64, path: &mut Path) -> bool {
        let file = module.path.rsplit('/').next().unwrap_or(&module.path);
        let of = self.known_number(module);
        let named = of.and_then(|of| self.names.get(&(of, offset)));
        let at_least = || (function(file, ""), Some(format!("+{offset:#x}")));
        match named {
            None => path.push(at_least()),
            Some(named) if named.is_empty() => path.push(at_least()),
            // Several where functions are inlined at this address.
            Some(named) => path.extend(named.iter().rev().map(|one| {
                let line = Some(one.line.clone()).filter(|line| !line.is_empty());
                let is_known = !one.function.is_empty() || line.is_some();
                let line = line.or_else(|| (!is_known).then(|| format!("+{offset:#x}")));
                (function(file, &one.function), line)
            })),
        }
        named.is_some()
    }
}

/// A Python function with its line.
fn python(function: &PythonFunction) -> (Frame, Option<String>) {
    let frame = Frame::Python {
        file: function.file.clone(),
        name: function.name.clone(),
    };
    (
        frame,
        Some(function.place()).filter(|line| !line.is_empty()),
    )
}

fn function(module: &str, name: &str) -> Frame {
    Frame::Function {
        module: module.to_owned(),
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module() -> Module {
        Module {
            path: "/opt/program".into(),
            build_id: Vec::new(),
        }
    }

    #[test]
    fn only_wanted_names_are_learned_and_too_many_forgotten() {
        let mut names = StackNames::default();
        names.learn(&module(), &[(1, Vec::new())]);
        let of = names.number(&module());
        assert_eq!(names.number(&module()), of, "one number for one file");
        names.want(&[(of, 1)].into());
        names.learn(&module(), &[(1, Vec::new()), (2, Vec::new())]);
        assert!(names.has((of, 1)) && !names.has((of, 2)));
        names.make_room();
        assert!(names.has((of, 1)));
        names.want(&(0..NAMES_MAX as u64).map(|offset| (of, offset)).collect());
        names.make_room();
        assert!(!names.has((of, 1)));
    }
}

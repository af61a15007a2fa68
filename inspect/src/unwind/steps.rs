//! A path as it travels: files, functions of Python, and steps that name them by number.

use crate::frames::{At, Frames};
use crate::python::code::{Codes, Told};
use crate::python::merge::Part;
use crate::python::{Interpreter, calls::Call};
use invivo_proto::control::local::{
    BUILD_ID_BYTES_MAX, MODULES_MAX, Module, PATH_BYTES_MAX, PYTHON_BYTES_MAX, PythonFunction,
    Step, UnwoundThread,
};
use invivo_proto::control::stacks::{DEPTH_MAX, NoPython};

/// What steps are made with.
pub struct Steps<'s, 'a> {
    pub frames: &'s Frames<'a>,
    pub interpreter: Option<&'s Interpreter>,
    pub codes: &'s mut Codes<'a>,
}

impl Steps<'_, '_> {
    /// Adds a path, where the thread is first, to what travels.
    pub fn add(&mut self, parts: &[Part<'_>], walked: &mut UnwoundThread) {
        // Of a deep path both ends are kept: where the thread is, and how it came there from
        // `main`.
        let is_deep = parts.len() > DEPTH_MAX;
        let inner = DEPTH_MAX / 4;
        let outer = parts.len().saturating_sub(DEPTH_MAX - 1 - inner);
        for (at, part) in parts.iter().enumerate() {
            if is_deep && at == inner {
                walked.path.push(Step::LeftOut);
            }
            if is_deep && (inner..outer).contains(&at) {
                continue;
            }
            match *part {
                Part::Native(at) => {
                    let step = self.native(&mut walked.modules, at);
                    walked.path.push(step);
                }
                Part::Python(call) => self.python(call, walked),
            }
        }
    }

    fn native(&self, modules: &mut Vec<Module>, at: At<'_>) -> Step {
        let place = at.path.and_then(|path| self.frames.place(path));
        let Some((place, bias)) = place.and_then(|place| Some((place, place.bias?))) else {
            return Step::Nowhere;
        };
        let known = modules.iter().position(|module| module.path == place.path);
        let fits = place.path.len() <= PATH_BYTES_MAX && modules.len() < MODULES_MAX;
        let module = match known {
            Some(module) => module,
            None if fits => {
                let mut build_id = place.build_id.clone();
                build_id.truncate(BUILD_ID_BYTES_MAX);
                modules.push(Module {
                    path: place.path.to_owned(),
                    build_id,
                });
                modules.len() - 1
            }
            None => return Step::Nowhere,
        };
        Step::Code {
            // Below `MODULES_MAX`.
            module: module as u8,
            offset: at.address.wrapping_sub(bias),
        }
    }

    fn python(&mut self, call: Call, walked: &mut UnwoundThread) {
        let told = self.interpreter.map(|one| one.told(self.codes, call));
        match told {
            Some(Told::Function(function)) => {
                let step = number(&mut walked.python, function);
                // One for all that have no room, if they are neighbours.
                if step != Step::LeftOut || walked.path.last() != Some(&Step::LeftOut) {
                    walked.path.push(step);
                }
            }
            Some(Told::Internal) => {}
            Some(Told::Garbage) | None => walked.no_python = Some(NoPython::Unreadable),
        }
    }
}

/// The step of a function: one that was there before has its number.
fn number(functions: &mut Vec<PythonFunction>, function: PythonFunction) -> Step {
    let bytes = |one: &PythonFunction| one.name.len() + one.file.len();
    let known = functions.iter().position(|known| *known == function);
    let number = known.unwrap_or(functions.len());
    if known.is_none() {
        let all: usize = functions.iter().map(bytes).sum();
        if all + bytes(&function) > PYTHON_BYTES_MAX {
            return Step::LeftOut;
        }
        functions.push(function);
    }
    // No more than steps, of which there are `DEPTH_MAX`.
    Step::Python {
        function: number as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_a_number_each_and_room_for_some() {
        let function = |name: &str, line| PythonFunction {
            name: name.to_owned(),
            file: "solve.py".to_owned(),
            line,
        };
        let mut functions = Vec::new();
        let mut of = |name: &str, line| number(&mut functions, function(name, line));
        let at = |function| Step::Python { function };
        assert_eq!(
            [of("step", 1), of("step", 2), of("step", 1)],
            [at(0), at(1), at(0)]
        );
        let long = "n".repeat(PYTHON_BYTES_MAX);
        assert_eq!([of(&long, 1), of("rest", 7)], [Step::LeftOut, at(2)]);
    }
}

//! Real interpreters in known functions: what is read from outside is what they say themselves.

use super::super::*;
use crate::test_memory;
use crate::test_python::interpreters;
use invivo_proto::control::local::PythonFunction;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Waits in `rest` in known functions, which C called in between, and in another one in a second
/// thread. Says before where both are: of each call function, file and line, the newest first.
const PROGRAM: &str = r#"
import functools, os, sys, threading

begun = threading.Event()

def tell(line):
    frame, calls = sys._getframe(1), []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        number = frame.f_lineno if calls else line
        calls.append(f"{name}|{os.path.basename(code.co_filename)}|{number}")
        frame = frame.f_back
    print(threading.get_native_id(), "/".join(calls), flush=True)

def rest(pipe):
    line = sys._getframe().f_lineno + 3
    tell(line)
    begun.set()
    os.read(pipe, 1)

class Solver:
    def __init__(self, depth):
        if depth is not None:
            self.step(depth)

    def step(self, depth):
        if depth:
            self.step(depth - 1)
        else:
            functools.reduce(lambda one, two: rest(0), [1, 2])

def build(depth):
    Solver(depth)
    return 0

def generate(depth):
    yield sorted([2, 1], key=lambda one: (
        build(depth)
    ))

def worker():
    rest(os.pipe()[0])

def main():
    threading.Thread(target=worker, daemon=True).start()
    begun.wait()
    # Often enough for the interpreter to have its own way of making objects.
    for time in range(1000):
        build(None)
    for one in generate(int(sys.argv[1])):
        pass
    os._exit(3)

main()
"#;

struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    _dir: tempfile::TempDir,
}

impl Running {
    /// Starts a program in a file of this name.
    fn new(interpreter: &Path, depth: u32) -> Running {
        let dir = tempfile::tempdir().expect("directory");
        let script = dir.path().join("known.py");
        std::fs::write(&script, PROGRAM).expect("a script");
        let mut child = Command::new(interpreter);
        child.arg(&script).arg(depth.to_string());
        let mut child = child
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Running {
            child,
            output,
            _dir: dir,
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// What a thread says of itself: its calls.
    fn says(&mut self) -> (i32, Vec<PythonFunction>) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        let (tid, calls) = line.trim().split_once(' ').expect("a number and calls");
        let call = |call: &str| {
            let mut words = call.split('|').map(str::to_owned);
            let mut word = || words.next().expect("a word");
            PythonFunction {
                name: word(),
                file: word(),
                line: word().parse().expect("a line"),
            }
        };
        let tid = tid.parse().expect("an id");
        (tid, calls.split('/').map(call).collect())
    }

    /// Waits until a thread sleeps in its read.
    fn wait_for(&self, tid: i32) {
        let since = Instant::now();
        let read = format!("{} ", libc::SYS_read);
        let call = || {
            let pid = self.child.id();
            std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default()
        };
        while !call().starts_with(&read) {
            assert!(since.elapsed() < Duration::from_secs(30), "{}", call());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn unwind(&self, python: &mut KnownPython) -> Vec<UnwoundThread> {
        let memory = test_memory::region();
        unwind(
            self.pid(),
            memory.page(),
            python,
            true,
            Duration::from_secs(10),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The Python functions of a path.
fn functions(walked: &UnwoundThread) -> Vec<PythonFunction> {
    let python = |step: &Step| match step {
        Step::Python { function } => Some(walked.python[usize::from(*function)].clone()),
        _ => None,
    };
    walked.path.iter().filter_map(python).collect()
}

/// The files of a path's native functions.
fn files(walked: &UnwoundThread) -> Vec<&str> {
    let file = |step: &Step| match step {
        Step::Code { module, .. } => Some(mapped::name(&walked.modules[usize::from(*module)].path)),
        _ => None,
    };
    walked.path.iter().filter_map(file).collect()
}

#[test]
fn each_thread_is_in_the_functions_that_it_says() {
    for (minor, interpreter) in interpreters() {
        let mut running = Running::new(&interpreter, 5);
        let said: BTreeMap<i32, Vec<PythonFunction>> = [running.says(), running.says()].into();
        said.keys().for_each(|tid| running.wait_for(*tid));
        let mut known = KnownPython::default();
        for _ in 0..3 {
            let all = running.unwind(&mut known);
            assert_eq!(all.len(), 2, "3.{minor}");
            for (tid, walked) in said.keys().zip(&all) {
                assert_eq!(functions(walked), said[tid], "3.{minor}: {walked:?}");
                assert_eq!(walked.no_python, None);
                assert!(walked.is_whole, "3.{minor}: {walked:?}");
                // The thread is in the C library, and what is left of the interpreter is nothing.
                let of_python = files(walked);
                let mut of_python = of_python.iter().filter(|file| file.contains("ython3"));
                assert_eq!(of_python.next(), None, "3.{minor}: {walked:?}");
            }
        }
        let mut depths: Vec<usize> = said.values().map(Vec::len).collect();
        depths.sort_unstable();
        println!("3.{minor}: {depths:?} calls");
        assert!(depths[1] >= 12, "3.{minor}");
        // It was not disturbed: it reads on, and leaves as it would.
        let mut input = running.child.stdin.take().expect("a pipe");
        input.write_all(b"xx").expect("it reads");
        drop(input);
        assert_eq!(running.child.wait().expect("its end").code(), Some(3));
    }
}

/// A recursion deeper than a path may be: both ends are told, and the middle is left out.
#[test]
fn a_deep_recursion_has_its_ends() {
    let (minor, interpreter) = interpreters().remove(0);
    let mut running = Running::new(&interpreter, 700);
    let said = [running.says(), running.says()];
    said.iter().for_each(|(tid, _)| running.wait_for(*tid));
    let all = running.unwind(&mut KnownPython::default());
    let (walked, (_, said)) = (&all[0], &said[1]);
    let found = functions(walked);
    assert!(walked.path.contains(&Step::LeftOut), "3.{minor}");
    assert!(said.starts_with(&found[..10]), "{found:?}");
    assert!(said.ends_with(&found[found.len() - 10..]), "{found:?}");
    assert!(said.len() > 700);
}

/// How long threads stand still with calls of Python and without: printed, because a busy machine
/// makes anything of it.
#[test]
fn the_time_of_stops_is_told() {
    for (minor, interpreter) in interpreters() {
        for depth in [0, 100, 900] {
            let mut running = Running::new(&interpreter, depth);
            let said = [running.says(), running.says()];
            said.iter().for_each(|(tid, _)| running.wait_for(*tid));
            let memory = ProcessMemory::of(running.pid()).expect("a child's memory");
            let mappings = mapped::mappings(running.pid()).expect("proc is there");
            let files = mapped::files(&mappings);
            let mut known = KnownPython::default();
            let python = known.of(running.pid(), &memory, &files);
            let page = test_memory::region();
            let rank = Rank::new(running.pid(), page.page(), &memory, &files, python);
            let pid = running.pid();
            let stops = |with_python: bool| {
                let mut stops: Vec<Duration> = (0..40)
                    .map(|_| {
                        let mut calls = match with_python {
                            true => rank.calls_of(pid),
                            false => Calls::None,
                        };
                        let (copied, runs) =
                            tracer::copy(pid, pid, &memory, || calls.read(&memory))
                                .unwrap_or_else(|refused| panic!("{refused:?}"));
                        let calls: usize = runs
                            .expect("they are read")
                            .iter()
                            .map(|run| run.calls.len())
                            .sum();
                        assert_eq!(calls > 0, with_python);
                        copied.stopped
                    })
                    .collect();
                stops.sort_unstable();
                stops
            };
            let (without, with) = (stops(false), stops(true));
            println!(
                "3.{minor}, {} calls: without {:?} (median) {:?} (longest), with {:?} {:?}",
                said[1].1.len(),
                without[20],
                without[39],
                with[20],
                with[39]
            );
        }
    }
}

/// A program in C with an interpreter's name, or with its tables, and what stands in them.
fn pretender(name: &str, source: &str) -> (PathBuf, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("directory");
    let (file, program) = (dir.path().join("source.c"), dir.path().join(name));
    std::fs::write(&file, source).expect("a source");
    let mut compile = Command::new("cc");
    compile
        .args(["-O1", "-rdynamic", "-o"])
        .arg(&program)
        .arg(&file);
    assert!(compile.status().expect("a C compiler").success());
    (program, dir)
}

const MAIN: &str = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n";

fn no_python(name: &str, tables: &str) -> (Option<NoPython>, Vec<PythonFunction>) {
    let (program, _dir) = pretender(name, &format!("{tables}\n{MAIN}"));
    let mut child = Command::new(program).spawn().expect("it runs");
    let pid = Pid::from_child(&child);
    let since = Instant::now();
    let sleeps = || {
        let call = std::fs::read_to_string(format!("/proc/{}/syscall", child.id()));
        call.unwrap_or_default()
            .starts_with(&format!("{} ", libc::SYS_pause))
    };
    while !sleeps() && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let memory = test_memory::region();
    let walked = unwind(
        pid,
        memory.page(),
        &mut KnownPython::default(),
        false,
        WITHIN,
    )
    .remove(0);
    child.kill().expect("ours");
    child.wait().expect("its end");
    assert!(walked.is_whole && walked.path.len() > 2, "{walked:?}");
    (walked.no_python, functions(&walked))
}

#[test]
fn interpreters_that_cannot_be_read_are_told() {
    let of = |name: &str, tables: &str| no_python(name, tables).0;
    let version = |minor| Some(NoPython::Version { major: 3, minor });
    assert_eq!(of("solver", ""), None, "no interpreter");
    assert_eq!(of("python3.7", ""), Some(NoPython::NoRuntime));
    assert_eq!(of("solver", "char _PyRuntime[4096];"), version(8));
    // "xdebugpy", the version, whether it has no global lock.
    let described = |free: u64, hex: u64| {
        format!("unsigned long _PyRuntime[512] = {{0x7970677562656478, {hex}, {free}}};")
    };
    assert_eq!(of("solver", &described(0, 0x0310_0000)), version(16));
    assert_eq!(
        of("solver", &described(0, 0x030d_0000)),
        version(13),
        "laid out otherwise"
    );
    assert_eq!(
        of("solver", &described(1, 0x030e_0000)),
        Some(NoPython::FreeThreaded)
    );
}

/// Tables that lead everywhere and in circles, as each version would have them.
#[test]
fn hostile_tables_give_no_function_and_an_end() {
    // The thread's id stands where some version looks for it.
    let circle = "\
        #include <unistd.h>\n\
        unsigned long _PyRuntime[512];\n\
        static unsigned long circle[512];\n\
        __attribute__((constructor)) static void turn(void) {\n\
            for (int i = 0; i < 512; i++)\n\
                circle[i] = _PyRuntime[i] = (unsigned long)circle;\n\
            circle[144 / 8] = circle[160 / 8] = circle[720 / 8] = getpid();\n\
        }\n";
    for version in [
        "void PyFrame_GetBack(void) {}",
        "void PyFrame_GetBack(void) {} void PyIter_Send(void) {}",
        "const unsigned long Py_Version = 0x030b00f0;",
        "const unsigned long Py_Version = 0x030c00f0;",
    ] {
        let found = no_python("python3", &format!("{circle}{version}"));
        assert_eq!(found, (Some(NoPython::Unreadable), Vec::new()), "{version}");
    }
}

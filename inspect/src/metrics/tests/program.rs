//! A program that does known amounts of what is measured.

use crate::test_program::TestProgram;
use rustix::process::Pid;

/// Waits for a line, does what it says, tells what the kernel says to it of itself, and waits
/// again.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long work;
static long ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}
static void spin(double time)
{
    long until = ns(CLOCK_THREAD_CPUTIME_ID) + time * 1e9;
    while (ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < 1000; i++)
            work += 3;
}
static void stand(int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}
static pthread_barrier_t done;
static void *waits(void *nothing)
{
    pthread_barrier_wait(&done);
    for (;;)
        pause();
    return nothing;
}
static void *competes(void *nothing)
{
    stand(0);
    spin(0.2);
    pthread_barrier_wait(&done);
    for (;;)
        pause();
    return nothing;
}
static void *moves(void *nothing)
{
    pthread_barrier_wait(&done);
    pthread_barrier_wait(&done);
    for (int i = 0; i <= 20; i++)
        stand(i % 2);
    return nothing;
}
static void *passes(void *nothing)
{
    usleep(100);
    spin(0.002);
    return nothing;
}
static sem_t leave, rest, rested;
static void *stays(void *nothing)
{
    sem_wait(&leave);
    return nothing;
}
static void *rests(void *nothing)
{
    for (;;) {
        sem_wait(&rest);
        for (int i = 0; i < 500; i++)
            usleep(100);
        sem_post(&rested);
    }
    return nothing;
}
static pthread_t thread, stayer, rester;
static void start(int threads, void *(*run)(void *))
{
    pthread_barrier_init(&done, NULL, threads + 1);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread, NULL, run, NULL);
    pthread_barrier_wait(&done);
}
static void tell(void)
{
    char line[64];
    long read = 0, written = 0;
    FILE *io = fopen("/proc/self/io", "r");
    while (io && fgets(line, sizeof line, io)) {
        sscanf(line, "read_bytes: %ld", &read);
        sscanf(line, "write_bytes: %ld", &written);
    }
    if (io)
        fclose(io);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld %ld %ld %ld %ld %ld %ld\n", used.ru_minflt + used.ru_majflt, used.ru_majflt,
           used.ru_nvcsw, used.ru_nivcsw, ns(CLOCK_PROCESS_CPUTIME_ID), read, written);
}
static char *mapped;
static void *obeys(void *nothing)
{
    char line[64], what[16];
    while (fgets(line, sizeof line, stdin)) {
        double amount = 0;
        sscanf(line, "%15s %lf", what, &amount);
        if (!strcmp(what, "touch")) {
            long page = sysconf(_SC_PAGESIZE), bytes = page * (long)amount;
            mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            madvise(mapped, bytes, MADV_NOHUGEPAGE);
            for (long at = 0; at < bytes; at += page)
                mapped[at] = 1;
        }
        if (!strcmp(what, "untouch"))
            munmap(mapped, sysconf(_SC_PAGESIZE) * (long)amount);
        if (!strcmp(what, "sleep"))
            for (int i = 0; i < amount; i++)
                usleep(100);
        if (!strcmp(what, "spin"))
            spin(amount);
        if (!strcmp(what, "compete"))
            start(amount, competes);
        if (!strcmp(what, "crowd"))
            start(amount, waits);
        if (!strcmp(what, "pass"))
            for (int i = 0; i < amount; i++) {
                pthread_create(&thread, NULL, passes, NULL);
                pthread_join(thread, NULL);
            }
        if (!strcmp(what, "move"))
            for (int i = 0; i <= amount; i++)
                stand(i % 2);
        if (!strcmp(what, "mover"))
            start(amount, moves);
        if (!strcmp(what, "go")) {
            pthread_barrier_wait(&done);
            pthread_join(thread, NULL);
        }
        if (!strcmp(what, "stay"))
            pthread_create(&stayer, NULL, stays, NULL);
        if (!strcmp(what, "leave")) {
            sem_post(&leave);
            pthread_join(stayer, NULL);
        }
        if (!strcmp(what, "rest")) {
            if (!rester)
                pthread_create(&rester, NULL, rests, NULL);
            sem_post(&rest);
            sem_wait(&rested);
        }
        if (!strcmp(what, "write")) {
            FILE *file = tmpfile();
            for (int i = 0; i < amount; i++)
                fputc('x', file);
            fflush(file);
            fsync(fileno(file));
            fclose(file);
        }
        if (!strcmp(what, "again"))
            execl("/proc/self/exe", "again", NULL);
        if (!strcmp(what, "headless")) {
            pthread_create(&thread, NULL, obeys, NULL);
            pthread_exit(NULL);
        }
        tell();
        fflush(stdout);
    }
    exit(0);
    return nothing;
}
int main(void)
{
    puts("begun");
    fflush(stdout);
    obeys(NULL);
    return 0;
}
"#;

/// What the program says of itself, since it began.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    pub faults: u64,
    pub major_faults: u64,
    pub voluntary: u64,
    pub involuntary: u64,
    pub cpu_ns: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

pub struct Program(TestProgram);

impl Program {
    /// Compiles and starts it.
    pub fn new() -> Program {
        let source = ("measured.c", PROGRAM, &["-pthread"][..]);
        let mut program = Program(TestProgram::start(&[source]));
        // What happens once has happened.
        program.run("touch 1");
        program
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Lets it do that, and waits.
    pub fn run(&mut self, what: &str) -> Own {
        let line = self.0.run(what);
        let numbers = line
            .split_whitespace()
            .map(|number| number.parse().expect("a number"));
        let numbers: Vec<u64> = numbers.collect();
        let [
            faults,
            major_faults,
            voluntary,
            involuntary,
            cpu_ns,
            read_bytes,
            written_bytes,
        ] = numbers.try_into().expect("seven");
        Own {
            faults,
            major_faults,
            voluntary,
            involuntary,
            cpu_ns,
            read_bytes,
            written_bytes,
        }
    }

    /// Lets it begin anew in the same process.
    pub fn again(&mut self) {
        assert_eq!(self.0.run("again"), "begun\n");
    }

    /// Lets it end; nobody asks how it ended.
    pub fn end(&mut self) {
        self.0.end_input();
    }

    /// Lets it end, and waits for that.
    pub fn leave(&mut self) {
        self.0.leave();
    }
}

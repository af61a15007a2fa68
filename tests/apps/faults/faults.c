/* Ends rank 1 by a fault: `faults WAY`. Lines in which its thread is are marked `at WAY`.
 *
 *   segv bus fpe ill   what the processor refuses
 *   abort              abort() in a function
 *   copy               memcpy from address 8
 *   call               a call of a function at address 0
 *   send               MPI_Send of a buffer at address 8
 *   overflow           recursion without end
 *   thread             a thread other than the first faults
 *   chain              its own handler, set behind MPI_Init, calls the one that it found
 *   raise              raise(SIGFPE)
 *   lives              a handler of before MPI_Init lives with three faults; the job ends well
 *   child              a forked child faults; the job ends well
 *   watched            the rank is a child of its process, which prints its status
 *
 * Each rank prints a line before. */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define A_FRAME __attribute__((noinline, noclone))

static volatile int left, zero;
static char *volatile nowhere = (char *)8;
static char buffer[64];

A_FRAME static void segv(void)
{
    *nowhere = 1; /* at segv */
    left++;
}

A_FRAME static void bus(void)
{
    char name[] = "/tmp/faults-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (file < 0 || ftruncate(file, 4096))
        _exit(97);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ftruncate(file, 0))
        _exit(96);
    *(volatile char *)page = 1; /* at bus */
    left++;
}

A_FRAME static void fpe(void)
{
    left = left / zero; /* at fpe */
    left++;
}

A_FRAME static void ill(void)
{
    __builtin_trap(); /* at ill */
}

A_FRAME static void give_up(void)
{
    abort(); /* at abort */
}

A_FRAME static void copy(void)
{
    void *(*volatile function)(void *, const void *, size_t) = memcpy;
    function(buffer, nowhere, sizeof buffer); /* at copy */
    left++;
}

A_FRAME static void call(void)
{
    static void (*volatile nothing)(void);
    nothing(); /* at call */
    left++;
}

A_FRAME static void send(void)
{
    MPI_Send(nowhere, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD); /* at send */
    left++;
}

A_FRAME static int overflow(int depth)
{
    volatile char room[4096];
    room[depth % 4096] = 1;
    if (zero)
        return depth;
    return overflow(depth + 1) + room[0]; /* at overflow */
}

static void *in_thread(void *nothing)
{
    segv();
    return nothing;
}

static struct sigaction found;

static void chained(int number, siginfo_t *info, void *context)
{
    static const char line[] = "the program's handler\n";
    if (write(1, line, sizeof line - 1) < 0)
        _exit(95);
    if (found.sa_flags & SA_SIGINFO)
        found.sa_sigaction(number, info, context); /* at chain */
    else if (found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN)
        found.sa_handler(number);
    signal(number, SIG_DFL);
    raise(number);
}

static sigjmp_buf again;

static void jump(int number)
{
    (void)number;
    siglongjmp(again, 1);
}

static void fault(const char *way)
{
    struct rlimit none = {0, 0};
    if (strcmp(way, "watched"))
        setrlimit(RLIMIT_CORE, &none);
    if (!strcmp(way, "segv") || !strcmp(way, "watched"))
        segv(); /* at main */
    if (!strcmp(way, "bus"))
        bus();
    if (!strcmp(way, "fpe"))
        fpe();
    if (!strcmp(way, "ill"))
        ill();
    if (!strcmp(way, "abort"))
        give_up();
    if (!strcmp(way, "copy"))
        copy();
    if (!strcmp(way, "call"))
        call();
    if (!strcmp(way, "send"))
        send();
    if (!strcmp(way, "overflow"))
        left = overflow(0);
    if (!strcmp(way, "raise"))
        raise(SIGFPE); /* at raise */
    if (!strcmp(way, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(way, "chain")) {
        struct sigaction own;
        memset(&own, 0, sizeof own);
        own.sa_sigaction = chained;
        own.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &own, &found);
        segv();
    }
    for (volatile int time = 0; !strcmp(way, "lives") && time < 3; time++)
        if (!sigsetjmp(again, 1))
            segv();
    if (!strcmp(way, "child")) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            segv();
            _exit(0);
        }
        waitpid(child, &status, 0);
        printf("the child: signal %d\n", WTERMSIG(status));
    }
}

/* Runs the rest in a child, whose status becomes ours but for the signal, which is printed. */
static void watch(void)
{
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    const char *logs = getenv("LOG_DIR");
    if (logs && chdir(logs))
        _exit(94);
    setrlimit(RLIMIT_CORE, &all);
    pid_t child = fork();
    if (child == 0)
        return;
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) {
        printf("signal %d, core %d\n", WTERMSIG(status), !!WCOREDUMP(status));
        fflush(stdout);
        usleep(300000);
    }
    _exit(WIFSIGNALED(status) ? 3 : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "segv";
    int rank;
    if (!strcmp(way, "watched"))
        watch();
    if (!strcmp(way, "lives"))
        signal(SIGSEGV, jump);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d\n", rank);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    if (rank == 1)
        fault(way);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("rank %d ends well\n", rank);
    return 0;
}

/* Stretches of work between which a rank stands still: `stretches KIND...`.
 *
 *   faults       touches fresh pages
 *   sleeps       sleeps a millisecond each time
 *   computing    computes, in more threads than there may be processors
 *   everything   all of it in steps, with messages of a few bytes and of many
 *   unwritten    sends many bytes that nobody has written
 *
 * Each is done by two threads, which live from begin to end; odd ranks do more of it. Before each
 * stretch, and behind the last one, a rank leaves LOG_DIR/RANK.ready-NUMBER and reads a byte from
 * the pipe LOG_DIR/RANK.gate. Until one is there it is blocked: no thread touches anything, or
 * comes to a processor. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGES = 3000,
    SLEEPS = 100,
    SLEEP_US = 1000,
    COMPUTE_NS = 400 * 1000 * 1000,
    STEPS = 50,
    BYTES = 1 << 20
};

static char written[BYTES], in[BYTES];
static int me, all;
static const char *kind;
static pthread_barrier_t begins, ends;

static char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", getenv("LOG_DIR"), me, name);
    return path;
}

static void fail(const char *what)
{
    perror(what);
    exit(70);
}

/* Pages of their own size each: of huge ones one fault would be for all. */
static char *fresh_pages(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

static void touch_fresh_pages(size_t pages)
{
    size_t page = sysconf(_SC_PAGESIZE), bytes = pages * page;
    char *memory = fresh_pages(bytes);
    for (size_t at = 0; at < bytes; at += page)
        *(volatile char *)(memory + at) = 1;
    munmap(memory, bytes);
}

static void compute(long long ns)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000LL + now.tv_nsec - begin.tv_nsec < ns);
}

static void exchange(void *out)
{
    MPI_Sendrecv(out, BYTES, MPI_BYTE, (me + 1) % all, 5, in, BYTES, MPI_BYTE, (me + all - 1) % all,
                 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void communicate(void)
{
    int one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    exchange(written);
}

static void send_unwritten(void)
{
    char *out = fresh_pages(BYTES);
    exchange(out);
    munmap(out, BYTES);
}

static void work(int calls_mpi)
{
    int more = 1 + me % 2;
    if (strcmp(kind, "faults") == 0) {
        touch_fresh_pages(PAGES * more);
    } else if (strcmp(kind, "sleeps") == 0) {
        for (int i = 0; i < SLEEPS * more; i++)
            usleep(SLEEP_US);
    } else if (strcmp(kind, "computing") == 0) {
        compute(COMPUTE_NS * more);
    } else if (strcmp(kind, "unwritten") == 0) {
        if (calls_mpi)
            send_unwritten();
    } else {
        for (int i = 0; i < STEPS; i++) {
            touch_fresh_pages(PAGES / STEPS * more);
            usleep(SLEEP_US);
            compute(COMPUTE_NS / STEPS / 4 * more);
            if (calls_mpi)
                communicate();
        }
    }
}

static void *second_thread(void *nothing)
{
    for (;;) {
        pthread_barrier_wait(&begins);
        if (!kind)
            return nothing;
        work(0);
        pthread_barrier_wait(&ends);
    }
}

static void wait_at(int gate, int number)
{
    char name[32], byte;
    snprintf(name, sizeof name, "ready-%d", number);
    int note = open(path_of(name), O_CREAT | O_WRONLY, 0600);
    if (note < 0 || close(note))
        fail(name);
    if (read(gate, &byte, 1) != 1)
        fail("gate");
}

int main(int argc, char **argv)
{
    pthread_t second;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    memset(written, 1, sizeof written);
    /* Open for writing, too: a pipe without a writer has ended. */
    if (mkfifo(path_of("gate"), 0600))
        fail("gate");
    int gate = open(path_of("gate"), O_RDWR);
    pthread_barrier_init(&begins, NULL, 2);
    pthread_barrier_init(&ends, NULL, 2);
    if (gate < 0 || pthread_create(&second, NULL, second_thread, NULL))
        fail("begin");
    for (int i = 1; i < argc; i++) {
        wait_at(gate, i - 1);
        kind = argv[i];
        pthread_barrier_wait(&begins);
        work(1);
        pthread_barrier_wait(&ends);
    }
    wait_at(gate, argc - 1);
    kind = NULL;
    pthread_barrier_wait(&begins);
    pthread_join(second, NULL);
    MPI_Finalize();
    return 0;
}

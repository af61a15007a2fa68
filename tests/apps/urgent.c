/* Three threads of each rank, until LOG_DIR/stop appears: the first one computes in `between` and
 * meets the others in MPI_Allreduce, one computes in `beside` and never calls MPI, one sleeps for
 * a millisecond again and again.
 *
 * `urgent handles` has a handler of SIGURG from the start, `urgent later` from when LOG_DIR/handle is
 * there, and sends that signal to itself ten times at the end. Each rank prints how often its handler was called, and how many of its sleeps a signal
 * has disturbed. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SENT = 10 };

static volatile sig_atomic_t handled;
static volatile int over;
static volatile double sums[2];
static int sleeps, disturbed;

static void on_urgent(int number)
{
    if (number == SIGURG)
        handled++;
}

__attribute__((noinline)) static void between(void)
{
    for (int i = 0; i < 1000000; i++)
        sums[0] = sums[0] * 0.5 + i;
}

__attribute__((noinline)) static void beside(void)
{
    for (int i = 0; i < 1000000; i++)
        sums[1] = sums[1] * 0.5 + i;
}

static void *computes(void *nothing)
{
    while (!over)
        beside();
    return nothing;
}

static void *rests(void *nothing)
{
    const struct timespec a_millisecond = {0, 1000000};
    for (; !over; sleeps++)
        if (nanosleep(&a_millisecond, NULL) != 0)
            disturbed++;
    return nothing;
}

int main(int argc, char **argv)
{
    int rank, provided, is_handled = argc > 1 && strcmp(argv[1], "handles") == 0;
    int is_later = argc > 1 && strcmp(argv[1], "later") == 0;
    struct sigaction action = {.sa_handler = on_urgent};
    pthread_t threads[2];
    if (is_handled)
        sigaction(SIGURG, &action, NULL);
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    if (pthread_create(&threads[0], NULL, computes, NULL) != 0 ||
        pthread_create(&threads[1], NULL, rests, NULL) != 0)
        return 1;
    for (int mine = 0, any = 0; !any;) {
        between();
        if (is_later && flag_is_set("handle")) {
            sigaction(SIGURG, &action, NULL);
            is_handled = 1, is_later = 0;
        }
        mine = flag_is_set("stop");
        CALL(MPI_Allreduce)(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; is_handled && i < SENT; i++)
        raise(SIGURG);
    printf("rank %d: %d handled, %d of %d disturbed\n", rank, (int)handled, disturbed, sleeps);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

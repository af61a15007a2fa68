/* Computes without an MPI call until LOG_DIR/stop, or for SECONDS: `compute [SECONDS]`.
 *
 * Two threads work, one of which MPI has never seen, each with its own clock log. */
#include "clock_log.h"
#include "counting.h"

#include <mpi.h>
#include <pthread.h>

static int log_file, ticks;

static void *work(void *unused)
{
    (void)unused;
    compute(log_file, "worker", ticks);
    return NULL;
}

int main(int argc, char **argv)
{
    int rank, provided;
    ticks = (argc > 1 ? atoi(argv[1]) : 60) * 100;
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    log_file = clock_log_open(rank);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);

    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    double sum = compute(log_file, "main", ticks);
    pthread_join(worker, NULL);

    CALL(MPI_Barrier)(MPI_COMM_WORLD);
    printf("rank %d computed %.6f\n", rank, sum);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

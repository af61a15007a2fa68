/* Every rank but 0 sits in MPI_Recv while rank 0 computes for SECONDS and then sends to each of them. The blocked ranks'
 * second thread keeps a clock log meanwhile. `recv_blocked [SECONDS]` */
#include "clock_log.h"
#include "counting.h"

#include <mpi.h>
#include <pthread.h>

static int log_file;
static volatile int received;

static void *watch(void *unused)
{
    (void)unused;
    while (!received)
        compute(log_file, "watcher", 1);
    return NULL;
}

int main(int argc, char **argv)
{
    int rank, size, value = 0, provided;
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    log_file = clock_log_open(rank);
    if (rank == 0) {
        compute(log_file, "main", (argc > 1 ? atoi(argv[1]) : 5) * 100);
        for (value = 1; value < size; value++) {
            CALL(MPI_Send)(&value, 1, MPI_INT, value, 0, MPI_COMM_WORLD);
            counting_sent(value, 4);
        }
        value = 0;
    } else {
        pthread_t watcher;
        pthread_create(&watcher, NULL, watch, NULL);
        CALL(MPI_Recv)(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        counting_received(0, 4);
        received = 1;
        pthread_join(watcher, NULL);
        clock_log_write(log_file, "received");
    }
    printf("rank %d has %d\n", rank, value);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

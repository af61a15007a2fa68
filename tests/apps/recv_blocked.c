/* All ranks but 0 wait in MPI_Recv while rank 0 computes: `recv_blocked [SECONDS]`.
 *
 * Rank 0 computes with a clock log until LOG_DIR/stop appears, or for SECONDS, and then sends to
 * each of them. The others log when they began to wait and when they had their message. */
#include "clock_log.h"
#include "counting.h"

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    int log_file = clock_log_open(rank);
    if (rank == 0) {
        compute(log_file, "main", (argc > 1 ? atoi(argv[1]) : 60) * 100);
        for (value = 1; value < size; value++) {
            CALL(MPI_Send)(&value, 1, MPI_INT, value, 0, MPI_COMM_WORLD);
            counting_sent(value, 4);
        }
        value = 0;
    } else {
        clock_log_write(log_file, "waiting");
        CALL(MPI_Recv)(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        clock_log_write(log_file, "received");
        counting_received(0, 4);
    }
    printf("rank %d has %d\n", rank, value);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

/* Ranks share work in known ways until LOG_DIR/stop appears: `shared_work KIND UNIT_MS`.
 *
 * In each round rank r of n works (sleeps, outside of MPI): n units where KIND is `even`, 1 + 2 r
 * units where it is `uneven` (so that the mean is n units and the longest 2 n - 1), and one unit
 * where it is `serial`, when the rank below has finished. A barrier ends the round. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void work(long ms)
{
    const struct timespec length = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&length, NULL);
}

int main(int argc, char **argv)
{
    int rank, size, go_on = 1, token = 0;
    const char *kind = argc > 1 ? argv[1] : "even";
    long unit_ms = argc > 2 ? atol(argv[2]) : 5;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    while (go_on) {
        if (!strcmp(kind, "serial")) {
            if (rank > 0) {
                CALL(MPI_Recv)(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                counting_received(rank - 1, sizeof token);
            }
            work(unit_ms);
            if (rank < size - 1) {
                CALL(MPI_Send)(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
                counting_sent(rank + 1, sizeof token);
            }
        } else {
            work(unit_ms * (strcmp(kind, "even") ? 1 + 2 * rank : size));
        }
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
        if (rank == 0)
            go_on = !flag_is_set("stop");
        CALL(MPI_Bcast)(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    printf("rank %d: done\n", rank);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

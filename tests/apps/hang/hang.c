/* Hangs of different kinds, with at least four ranks: `hang WAY`.
 *
 * Each line in which a rank hangs is marked with the way and the ranks, as `at WAY RANKS`. No way
 * ends by itself but `compute`, which is healthy.
 *
 *   ssend    ranks 0 and 1 send to each other and wait for the other to receive first; the others
 *            wait for them
 *   missing  rank 2 never comes to a barrier: it is in its own code
 *   root     half of the ranks gather at rank 0, half at rank 1
 *   recv     rank 0 waits for a message that rank 1 never sends; the others are through
 *   order    two communicators, and two ranks that call barriers on them in another order
 *   compute  all ranks are in their own code for SECONDS, then meet */
#include "counting.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void own_code(int seconds)
{
    for (int i = 0; i < seconds * 100; i++)
        usleep(10000);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "compute";
    int seconds = argc > 2 ? atoi(argv[2]) : 3600;
    int rank, size, value = 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    int *all = calloc(size, sizeof *all);
    CALL(MPI_Barrier)(MPI_COMM_WORLD);

    if (!strcmp(way, "ssend")) {
        if (rank < 2)
            CALL(MPI_Ssend)(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD); /* at ssend 0 1 */
    } else if (!strcmp(way, "missing")) {
        if (rank == 2)
            own_code(seconds);
    } else if (!strcmp(way, "root")) {
        int root = rank % 2;
        if (rank < 2)
            CALL(MPI_Gather)(&rank, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD); /* at root 0 1 */
        else
            CALL(MPI_Gather)(&rank, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD); /* at root 2 3 */
    } else if (!strcmp(way, "recv")) {
        if (rank == 0)
            CALL(MPI_Recv)(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* at recv 0 */
    } else if (!strcmp(way, "order")) {
        MPI_Comm first, second;
        CALL(MPI_Comm_dup)(MPI_COMM_WORLD, &first);
        CALL(MPI_Comm_dup)(MPI_COMM_WORLD, &second);
        CALL(MPI_Barrier)(rank == 0 ? second : first); /* at order 0 1 2 3 */
    } else if (!strcmp(way, "compute")) {
        own_code(seconds);
    }
    CALL(MPI_Barrier)(MPI_COMM_WORLD); /* at the end */

    free(all);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

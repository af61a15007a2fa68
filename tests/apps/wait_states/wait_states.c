/* Wait states whose times are known: `wait_states KIND ROUNDS`.
 *
 * In each round somebody comes late to each collective where KIND is `late`, and nobody where it is
 * `even`. Barrier, Allreduce, Bcast, Reduce and Scan are called on the world, Allgather,
 * Scatter, Gather and Exscan on two halves of it whose ranks are reversed. Of non-blocking
 * collectives somebody posts one late: the others wait for it in MPI_Wait, or for two in one
 * MPI_Waitall, and not at all where they call MPI_Test. Then rank 0 waits for two late senders at
 * once. Each rank logs its calls, with what the test has to know of a call as its bytes, and leaves
 * LOG_DIR/RANK.done. Then it waits, outside of MPI, until LOG_DIR/stop appears. */
#include "call_log.h"
#include "flag_file.h"

#include <mpi.h>
#include <string.h>

enum { LATE_US = 20000 };

static int is_late;

/* This rank comes so many times later than the first one. */
static void late(int times)
{
    if (is_late && times > 0)
        usleep(times * LATE_US);
}

/* Bytes of a log's line: of MPI_Waitall it says what is completed. */
enum { COLLECTIVES = 1 };

__attribute__((noinline)) static void non_blocking(int rank)
{
    int value = 1, sum = 0, all = 0, is_done = 0;
    MPI_Request posted[2];
    late(rank == 1);
    LOGGED(MPI_Iallreduce, 4, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &posted[0]);
    LOGGED(MPI_Wait, 0, &posted[0], MPI_STATUS_IGNORE);
    late(rank == 2);
    LOGGED(MPI_Ibcast, 4, &value, 1, MPI_INT, 2, MPI_COMM_WORLD, &posted[0]);
    late(rank == 3 ? 3 : 0);
    LOGGED(MPI_Ibarrier, 0, MPI_COMM_WORLD, &posted[1]);
    LOGGED(MPI_Waitall, COLLECTIVES, 2, posted, MPI_STATUSES_IGNORE);
    late(rank == 0);
    LOGGED(MPI_Ireduce, 4, &value, &all, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD, &posted[0]);
    while (!is_done) {
        LOGGED(MPI_Test, 0, &posted[0], &is_done, MPI_STATUS_IGNORE);
        usleep(1000);
    }
}

static void note(const char *what, int rank)
{
    FILE *file = fopen(log_path(what, rank), "w");
    if (!file)
        exit(70);
    fclose(file);
}

int main(int argc, char **argv)
{
    int rank, size, half_rank, value = 1, sum, all[64];
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    is_late = argc > 1 && !strcmp(argv[1], "late");
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    MPI_Comm half;
    CALL(MPI_Comm_split)(MPI_COMM_WORLD, rank % 2, size - rank, &half);
    CALL(MPI_Comm_rank)(half, &half_rank);
    for (int round = 0; round < rounds; round++) {
        late(rank == 0);
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD);
        late(rank == 2 ? 4 : rank == 1);
        LOGGED(MPI_Allreduce, 4, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        late(rank == 1);
        LOGGED(MPI_Bcast, 4, &value, 1, MPI_INT, 1, MPI_COMM_WORLD);
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD);
        late(rank == 3 ? 0 : 1 + rank);
        LOGGED(MPI_Reduce, 4, &value, &sum, 1, MPI_INT, MPI_SUM, 3, MPI_COMM_WORLD);
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD);
        late(half_rank == 1 ? 1 + rank : 0);
        LOGGED(MPI_Allgather, 4, &value, 1, MPI_INT, all, 1, MPI_INT, half);
        late(half_rank == 0);
        LOGGED(MPI_Scatter, 4, all, 1, MPI_INT, &sum, 1, MPI_INT, 0, half);
        late(half_rank == 0);
        LOGGED(MPI_Exscan, 4, &value, &sum, 1, MPI_INT, MPI_SUM, half);
        late(half_rank != 0);
        LOGGED(MPI_Gather, 4, &value, 1, MPI_INT, all, 1, MPI_INT, 0, half);
        late(rank == 2 ? 3 : 0);
        LOGGED(MPI_Scan, 4, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        non_blocking(rank);
        if (rank == 0) {
            MPI_Request requests[2];
            for (int from = 1; from <= 2; from++)
                CALL(MPI_Irecv)(&all[from], 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[from - 1]);
            LOGGED(MPI_Waitall, 0, 2, requests, MPI_STATUSES_IGNORE);
            counting_received(1, 4);
            counting_received(2, 4);
        } else if (rank <= 2) {
            /* Rank 1 comes from its half 20 ms later than rank 2 from the other: the second sender
             * is later in any case, and not by chance. */
            late(rank == 2 ? 3 : 1);
            LOGGED(MPI_Send, 4, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            counting_sent(0, 4);
        }
    }
    call_log_write(rank);
    note("%d.done", rank);
    while (!flag_is_set("stop"))
        usleep(10000);
    CALL(MPI_Comm_free)(&half);
    printf("rank %d: done\n", rank);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

/* Loops in loops, and a log of all their calls.
 *
 * A step sends to both neighbours, solves in SWEEPS sweeps with a collective each, and ends with a
 * barrier; every twentieth writes a checkpoint first. Sweeps of the second half of the steps take
 * twice as long; one late step takes longer than all others on rank 1. Then it waits until
 * LOG_DIR/stop appears. */
#include "call_log.h"
#include "flag_file.h"

#include <mpi.h>
#include <unistd.h>

enum { STEPS = 800, SWEEPS = 6, CHECKPOINT = 20, SLOW = 600 };

/* Sleeps, so that ranks that share processors are as fast as others. */
static void work(long us)
{
    usleep(us);
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    LOGGED(MPI_Init, 0, &argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    MPI_Comm world = MPI_COMM_WORLD;
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int step = 0; step < STEPS; step++) {
        const int is_late = step >= STEPS / 2;
        for (int side = 0; side < 2; side++) {
            const int to = side ? left : right, from = side ? right : left;
            int in = -1;
            LOGGED(MPI_Sendrecv, sizeof rank, &rank, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            counting_sent(to, sizeof rank);
            counting_received(from, sizeof rank);
            wrong += in != from;
        }
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            int sum = 0;
            work(is_late ? 1600 : 800);
            /* One line, whose number the test knows. */
            LOGGED(MPI_Allreduce, 4, &rank, &sum, 1, MPI_INT, MPI_SUM, world); /* at sweep */
            wrong += sum != size * (size - 1) / 2;
        }
        work(step == SLOW && rank == 1 ? 60000 : 500);
        if (step % CHECKPOINT == CHECKPOINT - 1) {
            work(3000);
            LOGGED(MPI_Bcast, 0, &step, 1, MPI_INT, 0, MPI_COMM_WORLD); /* at checkpoint */
        }
        LOGGED(MPI_Barrier, 0, MPI_COMM_WORLD); /* at step */
    }
    call_log_write(rank);
    FILE *done = fopen(log_path("%d.done", rank), "w");
    if (!done || fclose(done))
        return 70;
    while (!flag_is_set("stop"))
        usleep(20000);
    CALL(MPI_Finalize)();
    printf("rank %d: %d wrong\n", rank, wrong);
    counting_write(rank);
    return wrong ? 1 : 0;
}

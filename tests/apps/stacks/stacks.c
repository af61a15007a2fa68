/* Four ranks in known functions until LOG_DIR/stop appears.
 *
 * Lines in which a rank is, or from which it calls, are marked `at WHAT`.
 *
 *   main - step - compute - inner      rank 0, in its own code
 *               - exchange - MPI_Recv  ranks 1 and 2
 *               - rest - nanosleep     rank 3, which then sends to 1 and 2
 *
 * The compiler must give each function a frame: they are not inlined, and have something to do
 * after their calls. */
#include "counting.h"
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define A_FRAME __attribute__((noinline, noclone))

static volatile double sum;
static volatile int left;

A_FRAME static void inner(void)
{
    for (int i = 0; i < 2000000; i++)
        sum = sum * 0.5 + i; /* at inner */
}

A_FRAME static void compute(void)
{
    while (!flag_is_set("stop"))
        inner(); /* at compute */
    left++;
}

A_FRAME static int exchange(void)
{
    int value = 0;
    CALL(MPI_Recv)(&value, 1, MPI_INT, 3, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* at exchange */
    counting_received(3, 4);
    left++;
    return value;
}

A_FRAME static void rest(void)
{
    struct timespec second = {1, 0};
    while (!flag_is_set("stop"))
        nanosleep(&second, NULL); /* at rest */
    left++;
}

A_FRAME static int step(int rank)
{
    int value = rank;
    if (rank == 0)
        compute(); /* at step 0 */
    else if (rank < 3)
        value = exchange(); /* at step 1 2 */
    else
        rest(); /* at step 3 */
    left++;
    return value;
}

int main(int argc, char **argv)
{
    int rank, value;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    value = step(rank); /* at main */
    for (int to = 1; rank == 3 && to < 3; to++) {
        CALL(MPI_Send)(&value, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
        counting_sent(to, 4);
    }
    printf("rank %d has %d and left %d\n", rank, value, left);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

/* Receives that take long in known shares, of messages of known sizes: `durations ROUNDS`.
 *
 * In each round rank 1 works (for 1 ms; 5 ms in each eighth round; 20 ms in each fiftieth) and then
 * sends to rank 0, which waits in `await` (or in `await_largest`, where a MiB comes). Of four
 * messages two have 8 bytes, one has a KiB and one a MiB. Both log their calls, leave
 * LOG_DIR/RANK.done, and stay until LOG_DIR/stop appears. */
#include "call_log.h"
#include "flag_file.h"

#include <mpi.h>

enum { LARGEST = 1 << 20 };
static char buffer[LARGEST];

static void work(long us)
{
    long end = call_log_now() + us * 1000;
    while (call_log_now() < end)
        ;
}

static int bytes_of(int round)
{
    return round % 4 < 2 ? 8 : round % 4 == 2 ? 1024 : LARGEST;
}

static long work_us(int round)
{
    return round % 50 == 49 ? 20000 : round % 8 == 7 ? 5000 : 1000;
}

__attribute__((noinline)) static void await(int bytes)
{
    LOGGED(MPI_Recv, bytes, buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, /* at any */
           MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void await_largest(int bytes)
{
    LOGGED(MPI_Recv, bytes, buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, /* at largest */
           MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, rounds = argc > 1 ? atoi(argv[1]) : 1600;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; round++) {
        int bytes = bytes_of(round);
        if (rank == 1) {
            work(work_us(round));
            LOGGED(MPI_Send, bytes, buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        } else if (rank == 0) {
            bytes == LARGEST ? await_largest(bytes) : await(bytes);
        }
    }
    call_log_write(rank);
    FILE *done = fopen(log_path("%d.done", rank), "w");
    if (!done)
        exit(70);
    fclose(done);
    while (!flag_is_set("stop"))
        work(1000);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

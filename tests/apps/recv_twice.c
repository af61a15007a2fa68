/* All ranks but 0 wait in MPI_Recv twice, until LOG_DIR/send.0 and LOG_DIR/send.1 appear.
 *
 * Rank 0 looks for the files outside of MPI. Right before each receive a rank leaves
 * LOG_DIR/RANK.receives.0 and .1; before the second one it waits, outside of MPI, for
 * LOG_DIR/again. */
#include "call_log.h"

#include <mpi.h>
#include <unistd.h>

static void wait_for(const char *format, int number)
{
    while (access(log_path(format, number), F_OK))
        usleep(2000);
}

static void note(int rank, int receive)
{
    char name[32];
    snprintf(name, sizeof name, "%%d.receives.%d", receive);
    FILE *file = fopen(log_path(name, rank), "w");
    if (!file)
        exit(70);
    fclose(file);
}

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_size)(MPI_COMM_WORLD, &size);
    for (int receive = 0; receive < 2; receive++) {
        int value = receive;
        if (rank == 0) {
            wait_for("send.%d", receive);
            for (int other = 1; other < size; other++) {
                LOGGED(MPI_Send, 4, &value, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
                counting_sent(other, 4);
            }
        } else {
            if (receive == 1)
                wait_for("again", 0);
            note(rank, receive);
            LOGGED(MPI_Recv, 0, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            counting_received(0, 4);
        }
        sum += value;
    }
    printf("rank %d has %d\n", rank, sum);
    CALL(MPI_Finalize)();
    counting_write(rank);
    call_log_write(rank);
    return 0;
}

/* Partitioned messages, of MPI 4. */
#include "sections.h"

void partitioned(void)
{
#if MPI_VERSION >= 4
    enum { PARTITIONS = 4, EACH = 2 };
    int left = (me + all - 1) % all, right = (me + 1) % all;
    int out[PARTITIONS * EACH] = {0}, in[PARTITIONS * EACH], others[2] = {2, 3};
    MPI_Request requests[2];
    MPI_Psend_init(out, PARTITIONS, EACH, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(in, PARTITIONS, EACH, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < PARTITIONS * EACH; i++) {
            out[i] = 100 * round + 10 * me + i;
            in[i] = -1;
        }
        MPI_Startall(2, requests);
        MPI_Pready(1, requests[0]);
        MPI_Pready_range(0, 0, requests[0]);
        MPI_Pready_list(2, others, requests[0]);
        int flag = 0;
        while (!flag)
            MPI_Parrived(requests[1], 1, &flag);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        say("round %d: %d to %d", round, in[0], in[PARTITIONS * EACH - 1]);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#else
    say("no partitioned messages");
#endif
}

/* Two halves of a world that meet as strangers: by a port, and by a name where the launcher keeps names. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void talk(MPI_Comm comm, const char *what)
{
    int rank = -1, size = -1, remote = -1, other = -1, sum = 0, all = -1;
    MPI_Comm merged;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_remote_size(comm, &remote);
    if (rank == 0)
        MPI_Sendrecv(&size, 1, MPI_INT, 0, 1, &other, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Intercomm_merge(comm, other > 0, &merged);
    MPI_Comm_size(merged, &all);
    printf("%s: %d of %d against %d, they are %d, sum %d, together %d\n", what, rank, size, remote, other, sum, all);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&comm);
}

int main(int argc, char **argv)
{
    MPI_Comm half, met;
    int me, all, rank;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
    MPI_Comm_rank(half, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int code = me == 0 ? MPI_Open_port(MPI_INFO_NULL, port) : MPI_SUCCESS, class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    MPI_Bcast(&class, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (class != MPI_SUCCESS) {
        /* Debian's MPICH cannot. */
        printf("no port: class %d\n", class);
        MPI_Comm_free(&half);
        MPI_Finalize();
        return 0;
    }
    if (me == 0) {
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else if (me == 1)
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me % 2 == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &met);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &met);
    talk(met, "by a port");
    if (me == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}

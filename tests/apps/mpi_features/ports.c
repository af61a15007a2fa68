/* Two halves of a world that connect as different jobs do.
 *
 * They use a port, a name that the launcher keeps, and a socket. */
#include <arpa/inet.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    printf("%s: %d of %d against %d, they are %d, sum %d, together %d\n", what, rank, size, remote,
           other, sum, all);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&comm);
}

/* The first rank says whether it could. */
static int all_know(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    MPI_Bcast(&class, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return class;
}

static MPI_Comm meet(MPI_Comm half, int me, const char *port)
{
    MPI_Comm met;
    if (me % 2 == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &met);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &met);
    return met;
}

static void by_name(MPI_Comm half, int me, char *port)
{
    char found[MPI_MAX_PORT_NAME] = "";
    int class = all_know(me == 0 ? MPI_Publish_name("halves", MPI_INFO_NULL, port) : MPI_SUCCESS);
    if (class != MPI_SUCCESS) {
        printf("no names: class %d\n", class);
        return;
    }
    if (me == 1)
        MPI_Lookup_name("halves", MPI_INFO_NULL, found);
    talk(meet(half, me, me == 1 ? found : port), "by a name");
    if (me == 0)
        MPI_Unpublish_name("halves", MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Error_class(MPI_Lookup_name("halves", MPI_INFO_NULL, found), &class);
    printf("no longer there: %d\n", class != MPI_SUCCESS);
}

/* The first two ranks have a socket between them. */
static void by_socket(int me)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    int fd = socket(AF_INET, SOCK_STREAM, 0), ours = -1, port, class = MPI_SUCCESS;
    MPI_Comm met = MPI_COMM_NULL;
    if (me == 0) {
        if (bind(fd, (struct sockaddr *)&here, length) != 0 || listen(fd, 1) != 0
            || getsockname(fd, (struct sockaddr *)&here, &length) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        port = here.sin_port;
        MPI_Send(&port, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        ours = accept(fd, NULL, NULL);
        close(fd);
    } else {
        MPI_Recv(&port, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        here.sin_port = (in_port_t)port;
        if (connect(fd, (struct sockaddr *)&here, length) != 0)
            MPI_Abort(MPI_COMM_WORLD, 4);
        ours = fd;
    }
    MPI_Error_class(MPI_Comm_join(ours, &met), &class);
    if (class == MPI_SUCCESS && met != MPI_COMM_NULL) {
        int value = -1;
        MPI_Sendrecv(&me, 1, MPI_INT, 0, 3, &value, 1, MPI_INT, 0, 3, met, MPI_STATUS_IGNORE);
        printf("by a socket: the other was %d\n", value);
        MPI_Comm_disconnect(&met);
    } else
        printf("not joined: class %d, nothing %d\n", class, met == MPI_COMM_NULL);
    close(ours);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    int me, all, rank;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
    MPI_Comm_rank(half, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int class = all_know(me == 0 ? MPI_Open_port(MPI_INFO_NULL, port) : MPI_SUCCESS);
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
    talk(meet(half, me, port), "by a port");
    by_name(half, me, port);
    if (me < 2)
        by_socket(me);
    if (me == 0)
        MPI_Close_port(port);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}

/* Rounds of messages and collectives, each told in the words of OTF2: `told_rounds`.
 *
 * Every rank writes what it has done to LOG_DIR/RANK.told, one line for each event of
 * communication, in its order: "EVENT MEMBERS PEER TAG BYTES", where MEMBERS are the ranks of the
 * communicator and PEER is a rank in it, or the root. The rounds go on until there is a file
 * `enough`; then the program waits for a file `stop`. */
#include "flag_file.h"

#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { INTS = 1000, NAME = 4096 };

/* The path of a file in LOG_DIR; it is overwritten by the next one. */
static const char *log_path(const char *format, int number)
{
    static char path[4096];
    const char *directory = getenv("LOG_DIR");
    int length = snprintf(path, sizeof path, "%s/", directory ? directory : ".");
    snprintf(path + length, sizeof path - length, format, number);
    return path;
}

static FILE *told;
static int rank, size;
static char world_members[NAME], parity_members[NAME];

static void tell(const char *event, const char *members, int peer, int tag, long bytes)
{
    fprintf(told, "%s %s %d %d %ld\n", event, members, peer, tag, bytes);
}

static void name_members(MPI_Comm comm, char *into)
{
    int members, ranks[256], all[256], length = 0;
    MPI_Group group, world;
    MPI_Comm_size(comm, &members);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < members; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(group, members, ranks, world, all);
    for (int i = 0; i < members; i++)
        length += snprintf(into + length, NAME - length, "%s%d", i ? "," : "", all[i]);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* To the other of two neighbours and back, and to nobody, which is no message. */
static void blocking(int *out, int *in, int ints)
{
    int other = rank ^ 1, bytes = ints * (int)sizeof *out;
    MPI_Status status;
    if (other >= size)
        return;
    MPI_Send(out, ints, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    for (int turn = 0; turn < 2; turn++) {
        if (turn == rank % 2) {
            MPI_Send(out, ints, MPI_INT, other, 1, MPI_COMM_WORLD);
            tell("MPI_SEND", world_members, other, 1, bytes);
        } else {
            MPI_Recv(in, INTS, MPI_INT, turn ? MPI_ANY_SOURCE : other, turn ? MPI_ANY_TAG : 1,
                     MPI_COMM_WORLD, &status);
            tell("MPI_RECV", world_members, status.MPI_SOURCE, status.MPI_TAG, bytes);
        }
    }
}

/* Around the ring of a communicator. */
static void non_blocking(MPI_Comm comm, const char *members, int *out, int *in, int ints)
{
    int mine, all, bytes = ints * (int)sizeof *out;
    MPI_Request requests[2];
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &all);
    int next = (mine + 1) % all, previous = (mine + all - 1) % all;
    MPI_Irecv(in, INTS, MPI_INT, previous, 7, comm, &requests[0]);
    tell("MPI_IRECV_REQUEST", "-", 0, 0, 0);
    MPI_Isend(out, ints, MPI_INT, next, 7, comm, &requests[1]);
    tell("MPI_ISEND", members, next, 7, bytes);
    if (ints % 2) {
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    tell("MPI_IRECV", members, previous, 7, bytes);
    tell("MPI_ISEND_COMPLETE", "-", 0, 0, 0);
}

static void collectives(MPI_Comm comm, const char *members, int *out, int *in, int ints)
{
    int all, bytes = ints * (int)sizeof *out;
    MPI_Request request;
    MPI_Comm_size(comm, &all);
    MPI_Bcast(out, ints, MPI_INT, all - 1, comm);
    tell("BCAST", members, all - 1, 0, bytes);
    MPI_Allreduce(out, in, ints, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    tell("ALLREDUCE", world_members, -1, 0, bytes);
    MPI_Iallreduce(out, in, ints, MPI_INT, MPI_MAX, comm, &request);
    tell("NON_BLOCKING_COLLECTIVE_REQUEST", "-", 0, 0, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tell("NON_BLOCKING ALLREDUCE", members, -1, 0, bytes);
}

int main(int argc, char **argv)
{
    static int out[INTS], in[INTS];
    MPI_Comm parity;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    told = fopen(log_path("%d.told", rank), "w");
    if (!told)
        return 70;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &parity);
    name_members(MPI_COMM_WORLD, world_members);
    name_members(parity, parity_members);

    int goes_on = 1;
    for (int round = 0; goes_on; round++) {
        int ints = 1 + round % INTS;
        blocking(out, in, ints);
        non_blocking(parity, parity_members, out, in, ints);
        collectives(parity, parity_members, out, in, ints);
        goes_on = !flag_is_set("enough");
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        tell("BCAST", world_members, 0, 0, sizeof goes_on);
        if (round == 20)
            fclose(fopen(log_path("%d.begun", rank), "w"));
        usleep(200);
    }
    fclose(told);
    fclose(fopen(log_path("%d.done", rank), "w"));
    while (!flag_is_set("stop"))
        usleep(1000);
    MPI_Comm_free(&parity);
    MPI_Finalize();
    return 0;
}

/* Intercommunicators between the even and the odd ranks. */
#include "sections.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Gives the counts of a reduction with nothing readable behind them: there is one for each rank of
 * the own group, however many the others are. */
static int *counts_at_the_end(int number, char **pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*pages == MAP_FAILED || mprotect(*pages + page, page, PROT_NONE) != 0)
        abort();
    return (int *)(*pages + page) - number;
}

static void scattered(MPI_Comm inter)
{
    enum { TOGETHER = 6 };
    int rank, size, values[TOGETHER], got[TOGETHER] = {0};
    char *pages;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    int *counts = counts_at_the_end(size, &pages);
    for (int i = 0; i < size; i++)
        counts[i] = TOGETHER / size + (i < TOGETHER % size);
    for (int i = 0; i < TOGETHER; i++)
        values[i] = 10 * me + i;
    MPI_Reduce_scatter(values, got, counts, MPI_INT, MPI_SUM, inter);
    say("the others' sums scattered: %d, first %d, last %d", counts[rank], got[0],
        got[counts[rank] - 1]);
    munmap(pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

void intercomms(void)
{
    MPI_Comm half, inter, merged, dup, fewer;
    int rank, size, remote, flag, result, sum, leader = me % 2 == 0 ? 1 : 0;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
    if (MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 9, &inter) != MPI_SUCCESS)
        return;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_test_inter(inter, &flag);
    say("%d of %d against %d, inter %d", rank, size, remote, flag);

    MPI_Group group, world;
    int first = 0, where = -1;
    MPI_Comm_remote_group(inter, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &first, world, &where);
    say("the first of the others is %d in the world", where);
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    /* The first of the even ranks gives, the odd ones get. */
    int root = me % 2 == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0,
        value = me % 2 == 0 ? 42 : -1;
    MPI_Bcast(&value, 1, MPI_INT, root, inter);
    say("bcast %d", value);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter);
    say("the others' sum %d", sum);
    int gathered[64] = {0}, all_gathered[64] = {0};
    MPI_Gather(&me, 1, MPI_INT, gathered, 1, MPI_INT, root, inter);
    MPI_Allgather(&me, 1, MPI_INT, all_gathered, 1, MPI_INT, inter);
    say("gathered %d %d, by all %d %d", gathered[0], gathered[1], all_gathered[0], all_gathered[1]);
    MPI_Barrier(inter);
    scattered(inter);
    MPI_Request request;
    value = me % 2 == 0 ? 43 : -1;
    MPI_Ibcast(&value, 1, MPI_INT, root, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("ibcast %d", value);

    /* A message to each rank of the other group from the first of this one. */
    if (rank == 0)
        for (int i = 0; i < remote; i++)
            MPI_Send(&me, 1, MPI_INT, i, 10, inter);
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 10, inter, &status);
    say("a message of %d from %d", value, status.MPI_SOURCE);

    /* Freed as soon as it may be used, and once more after having been used. */
    for (int used = 0; used < 2; used++) {
        MPI_Comm_idup(inter, &dup, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (used)
            MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, dup),
                say("idup of an intercommunicator: sum %d", sum);
        MPI_Comm_free(&dup);
    }
    MPI_Comm_dup(inter, &dup);
    MPI_Comm_compare(inter, dup, &result);
    say("dup %s", comparison(result));
    MPI_Comm_split(dup, rank == 0, 0, &fewer);
    if (fewer != MPI_COMM_NULL) {
        MPI_Comm_size(fewer, &size);
        MPI_Comm_remote_size(fewer, &remote);
        say("split: %d against %d", size, remote);
        MPI_Comm_free(&fewer);
    } else
        say("split: nothing");
    MPI_Intercomm_merge(dup, me % 2, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_compare(merged, MPI_COMM_WORLD, &result);
    say("merged %d, %s", rank, comparison(result));
    MPI_Comm_free(&merged);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Communicators: names, comparisons, information, kinds of splitting, and what must not be done to
 * the world. */
#include "sections.h"

#include <stdio.h>
#include <string.h>

static void describe(const char *what, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0, rank = -1, size = -1, result = -1, inter = -1, topology = -1;
    MPI_Comm_get_name(comm, name, &length);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    MPI_Comm_test_inter(comm, &inter);
    MPI_Topo_test(comm, &topology);
    say("%s: \"%s\" (%d), %d of %d, %s, inter %d, topology %d", what, name, length, rank, size,
        comparison(result), inter, topology == MPI_UNDEFINED);
}

static void hints(const char *what, MPI_Comm comm)
{
    MPI_Info info;
    int keys = -1;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_nkeys(info, &keys);
    say("%s has %d hints", what, keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1] = "", value[256] = "";
        int flag = 0;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, 255, value, &flag);
        say("  %s = %s", key, flag ? value : "nothing");
    }
    MPI_Info_free(&info);
}

void communicators(void)
{
    MPI_Comm dup, with_info, split, node, idup, created, null = MPI_COMM_NULL;
    MPI_Info info;
    MPI_Request request;
    describe("world", MPI_COMM_WORLD);
    describe("self", MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    describe("dup", dup);
    MPI_Comm_set_name(dup, "a dup of the world");
    describe("dup with a name", dup);
    MPI_Comm_set_name(MPI_COMM_WORLD, "everybody");
    describe("world with another name", MPI_COMM_WORLD);
    MPI_Comm_set_name(MPI_COMM_WORLD, "MPI_COMM_WORLD");

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with_info);
    hints("world", MPI_COMM_WORLD);
    hints("dup with info", with_info);
    MPI_Comm_set_info(MPI_COMM_WORLD, info);
    hints("world with a hint", MPI_COMM_WORLD);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MPI_Comm_set_info(MPI_COMM_WORLD, info);
    MPI_Info_free(&info);
    MPI_Comm_free(&with_info);

    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &split);
    describe("split", split);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 3, 0, &created);
    say("split without the first: %s", which(created));
    if (created != MPI_COMM_NULL)
        MPI_Comm_free(&created);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    describe("ranks that share memory", node);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &created);
    say("split by nothing: %s", which(created));
    MPI_Comm_idup(MPI_COMM_WORLD, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    describe("idup", idup);

    int sum = 0;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, idup);
    say("sum %d", sum);
    /* Many come and go: handles and numbers are used again. */
    for (int i = 0; i < 40; i++) {
        MPI_Comm again;
        int size;
        MPI_Comm_split(dup, i % 3 == me % 3, 0, &again);
        MPI_Comm_size(again, &size);
        MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_MAX, again);
        if (sum != size)
            say("split %d has %d and %d", i, size, sum);
        MPI_Comm_free(&again);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm world = MPI_COMM_WORLD;
    say_code("free the world", MPI_Comm_free(&world));
    say("it is still %s", which(world));
    say_code("dup nothing", MPI_Comm_dup(null, &created));
    say_code("size of nothing", MPI_Comm_size(null, &sum));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&idup);
    MPI_Comm_free(&node);
    MPI_Comm_free(&split);
    MPI_Comm_disconnect(&dup);
    say("freed: %s", which(dup));
}

/* Groups: made of each other, compared, translated, and made into communicators. */
#include "sections.h"

enum { RANKS_MAX = 64 };

static void describe(const char *name, MPI_Group group)
{
    MPI_Group world;
    int size, rank, ranks[RANKS_MAX], in_world[RANKS_MAX];
    MPI_Group_size(group, &size);
    MPI_Group_rank(group, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(group, size, ranks, world, in_world);
    say("%s: size %d, rank %d", name, size, rank == MPI_UNDEFINED ? -1 : rank);
    for (int i = 0; i < size; i++)
        say("  %d is %d", i, in_world[i] == MPI_UNDEFINED ? -1 : in_world[i]);
    MPI_Group_free(&world);
}

static void compare(const char *what, MPI_Group one, MPI_Group other)
{
    int result;
    MPI_Group_compare(one, other, &result);
    say("%s: %s", what, comparison(result));
}

void groups(void)
{
    MPI_Group world, self, first, rest, reversed, together, common, without, ranges, again;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(MPI_COMM_SELF, &self);
    describe("world", world);
    describe("self", self);

    int zero = 0, backwards[1][3] = {{all - 1, 0, -1}}, evens[1][3] = {{0, all - 1, 2}};
    MPI_Group_incl(world, 1, &zero, &first);
    MPI_Group_excl(world, 1, &zero, &rest);
    MPI_Group_range_incl(world, 1, backwards, &reversed);
    MPI_Group_range_excl(world, 1, evens, &ranges);
    MPI_Group_union(rest, first, &together);
    MPI_Group_intersection(reversed, rest, &common);
    MPI_Group_difference(world, first, &without);
    describe("first", first);
    describe("rest", rest);
    describe("reversed", reversed);
    describe("odd", ranges);
    describe("together", together);
    describe("common", common);
    describe("without", without);
    describe("nobody", MPI_GROUP_EMPTY);
    compare("world and together", world, together);
    compare("rest and without", rest, without);
    compare("rest and common", rest, common);
    compare("self and world", self, world);

    int last = all - 1, where = -1, beyond = MPI_PROC_NULL, null = -1;
    MPI_Group_translate_ranks(world, 1, &last, reversed, &where);
    MPI_Group_translate_ranks(world, 1, &beyond, reversed, &null);
    say("the last is %d in the reversed, nobody stays nobody %d", where, null == MPI_PROC_NULL);

    MPI_Comm comm, of_some;
    int rank, sum = 0, result;
    MPI_Comm_create(MPI_COMM_WORLD, reversed, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    MPI_Comm_group(comm, &again);
    compare("reversed and its communicator's", reversed, again);
    MPI_Scan(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    say("in reverse %d, %s, scan %d", rank, comparison(result), sum);
    MPI_Comm_free(&comm);
    MPI_Comm_create(MPI_COMM_WORLD, rest, &of_some);
    say("the first is%s in the rest", of_some == MPI_COMM_NULL ? " not" : "");
    if (of_some != MPI_COMM_NULL) {
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, of_some);
        say("the rest's sum %d", sum);
        MPI_Comm_free(&of_some);
        MPI_Comm_create_group(MPI_COMM_WORLD, rest, 5, &comm);
        MPI_Comm_rank(comm, &rank);
        say("by their group alone %d", rank);
        MPI_Comm_free(&comm);
    }
    MPI_Group *groups[] = {&world,  &self,     &first,  &rest,    &reversed,
                           &ranges, &together, &common, &without, &again};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        MPI_Group_free(groups[i]);
}

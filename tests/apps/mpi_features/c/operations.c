/* Operations of the program's own: called by MPI, on the program's types, and calling MPI
 * themselves. */
#include "sections.h"

struct pair {
    double value;
    int rank;
};

static int calls;

static void largest(void *in, void *inout, int *length, MPI_Datatype *type)
{
    struct pair *from = in, *to = inout;
    int size = -1;
    MPI_Type_size(*type, &size);
    calls++;
    for (int i = 0; i < *length; i++)
        if (from[i].value > to[i].value)
            to[i] = from[i];
    if (size != (int)(sizeof(double) + sizeof(int)))
        say("  a type of %d", size);
}

/* Not commutative: digits in the order of the ranks. */
static void digits(void *in, void *inout, int *length, MPI_Datatype *type)
{
    long *from = in, *to = inout;
    (void)type;
    calls++;
    for (int i = 0; i < *length; i++)
        to[i] += from[i] * 10;
}

static void first(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
}

void operations(void)
{
    MPI_Op op, ordered, nothing;
    MPI_Datatype type;
    int lengths[2] = {1, 1}, commutes = -1;
    MPI_Aint places[2] = {offsetof(struct pair, value), offsetof(struct pair, rank)};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, plain;
    MPI_Type_create_struct(2, lengths, places, types, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(struct pair), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(largest, 1, &op);
    MPI_Op_create(digits, 0, &ordered);
    MPI_Op_create(first, 1, &nothing);
    MPI_Op_commutative(ordered, &commutes);

    struct pair own[2] = {{me == 1 ? 9.5 : me, me}, {-me, me}}, found[2];
    MPI_Allreduce(own, found, 2, type, op, MPI_COMM_WORLD);
    say("largest: %.1f of %d, %.1f of %d", found[0].value, found[0].rank, found[1].value,
        found[1].rank);
    long digit = me + 1, all_digits = 0;
    MPI_Reduce(&digit, &all_digits, 1, MPI_LONG, ordered, 0, MPI_COMM_WORLD);
    say("in order: %ld, commutative %d", me == 0 ? all_digits : 0, commutes);
    MPI_Scan(&digit, &all_digits, 1, MPI_LONG, ordered, MPI_COMM_WORLD);
    say("scan: %ld", all_digits);
    MPI_Request request;
    MPI_Iallreduce(own, found, 2, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("without waiting: %.1f of %d", found[0].value, found[0].rank);
    int before = calls;
    long inout = 2;
    MPI_Reduce_local(&digit, &inout, 1, MPI_LONG, ordered);
    say("local: %ld in %d call", inout, calls - before);
    struct {
        int value, rank;
    } own_pair = {me * me % 3, me}, location;
    MPI_Allreduce(&own_pair, &location, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    say("maxloc: %d at %d", location.value, location.rank);
    MPI_Op_free(&op);
    MPI_Op_free(&ordered);
    MPI_Op_free(&nothing);
    MPI_Type_free(&plain);
    MPI_Type_free(&type);
    say("freed: %d", op == MPI_OP_NULL);
}

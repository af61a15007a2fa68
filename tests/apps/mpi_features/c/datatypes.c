/* Datatypes of all constructors: what they say of themselves, and what arrives by them. */
#include "sections.h"

#include <string.h>

static void exchange(const char *name, MPI_Datatype type)
{
    char text[MPI_MAX_OBJECT_NAME] = "";
    int out[64], in[64], size = -1, length = 0, numbers[4] = {-1, -1, -1, -1}, sum = 0, count = -1;
    MPI_Aint lower = -1, extent = -1, true_lower = -1, true_extent = -1;
    MPI_Status status;
    for (int i = 0; i < 64; i++) {
        out[i] = me * 100 + i;
        in[i] = 0;
    }
    MPI_Type_set_name(type, name);
    MPI_Type_commit(&type);
    MPI_Type_get_name(type, text, &length);
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    MPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &numbers[3]);
    say("%s: size %d, extent %ld %ld, true %ld %ld, made of %d %d %d by %d", text, size,
        (long)lower, (long)extent, (long)true_lower, (long)true_extent, numbers[0], numbers[1],
        numbers[2], numbers[3]);
    MPI_Sendrecv(out, 1, type, (me + 1) % all, 1, in, 1, type, (me + all - 1) % all, 1,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &count);
    for (int i = 0; i < 64; i++)
        sum += in[i] * (i + 1);
    say("  arrived %d, digest %d", count, sum);
    MPI_Type_free(&type);
}

void datatypes(void)
{
    MPI_Datatype type, inner;
    int lengths[3] = {2, 1, 3}, places[3] = {0, 5, 9}, sizes[2] = {6, 6}, subsizes[2] = {2, 3},
        starts[2] = {1, 2};
    MPI_Aint offsets[3] = {0, 24, 40};
    MPI_Datatype types[3] = {MPI_INT, MPI_FLOAT, MPI_CHAR};
    MPI_Type_contiguous(5, MPI_INT, &type);
    exchange("contiguous", type);
    MPI_Type_vector(4, 2, 5, MPI_INT, &type);
    exchange("vector", type);
    MPI_Type_create_hvector(3, 2, 20, MPI_INT, &type);
    exchange("hvector", type);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    exchange("indexed", type);
    MPI_Type_create_hindexed(3, lengths, offsets, MPI_INT, &type);
    exchange("hindexed", type);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type);
    exchange("indexed_block", type);
    MPI_Type_create_hindexed_block(3, 1, offsets, MPI_INT, &type);
    exchange("hindexed_block", type);
    MPI_Type_create_struct(3, lengths, offsets, types, &type);
    exchange("struct", type);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    exchange("subarray", type);
    int whole[2] = {4, 4}, kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
        grid[2] = {2, 2};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(4, 1, 2, whole, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    exchange("darray", type);
    MPI_Type_create_resized(MPI_INT, -4, 16, &inner);
    MPI_Type_contiguous(3, inner, &type);
    exchange("resized", type);
    MPI_Type_dup(inner, &type);
    exchange("dup", type);
    MPI_Type_free(&inner);

    int numbers[8];
    MPI_Aint addresses[4];
    MPI_Datatype of[4];
    MPI_Type_vector(4, 2, 5, MPI_INT, &type);
    MPI_Type_get_contents(type, 3, 0, 1, numbers, addresses, of);
    say("a vector of %d, %d, %d, of int %d", numbers[0], numbers[1], numbers[2], of[0] == MPI_INT);

    char buffer[256];
    int position = 0, room = -1, out = 17 + me, in = -1;
    double other = 0.5 * me, got = -1;
    MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &room);
    MPI_Pack(&out, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(&other, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    int bytes = position;
    MPI_Sendrecv_replace(buffer, bytes, MPI_PACKED, (me + 1) % all, 2, (me + all - 1) % all, 2,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    position = 0;
    MPI_Unpack(buffer, bytes, &position, &in, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(buffer, bytes, &position, &got, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    say("packed in %d of %d: %d %.1f", bytes, room >= 4, in, got);
    MPI_Aint at = 0, needed = -1;
    MPI_Pack_external_size("external32", 1, MPI_INT, &needed);
    MPI_Pack_external("external32", &out, 1, MPI_INT, buffer, sizeof buffer, &at);
    say("external %ld of %ld: %d %d", (long)at, (long)needed, buffer[0], buffer[3]);
    at = 0;
    MPI_Unpack_external("external32", buffer, sizeof buffer, &at, &in, 1, MPI_INT);
    say("back: %d", in);
    MPI_Type_free(&type);
    MPI_Datatype real, matched;
    int size = -1;
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &matched);
    MPI_Type_size(matched, &size);
    MPI_Type_create_f90_real(10, MPI_UNDEFINED, &real);
    say("matched %d", size);
    MPI_Type_size(real, &size);
    say("with ten digits %d", size);
}

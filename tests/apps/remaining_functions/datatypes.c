/* Datatypes of all constructors, what they say of themselves, packing. */
#include "sections.h"

enum { ROOM = 64 };

static void about(MPI_Datatype type)
{
    int out[ROOM], in[ROOM];
    COUNT size = -1;
    OFFSET lower = -1, extent = -1, true_lower = -1, true_extent = -1;
    int combiner = -1;
    MPI_Status status;
    for (int i = 0; i < ROOM; i++) {
        out[i] = 100 * me + i;
        in[i] = -1;
    }
    MPI_Type_commit(&type);
    F(MPI_Type_size)(type, &size);
    F(MPI_Type_get_extent)(type, &lower, &extent);
    F(MPI_Type_get_true_extent)(type, &true_lower, &true_extent);
    fold(size);
    fold(lower);
    fold(extent);
    fold(true_lower);
    fold(true_extent);
    MPI_Datatype made_of[ROOM];
#ifdef LARGE
    MPI_Count integers = -1, addresses = -1, counts = -1, types = -1, large[ROOM];
    int whole[ROOM];
    MPI_Aint places[ROOM];
    MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    fold(counts);
    MPI_Type_get_contents_c(type, integers, addresses, counts, types, whole, places, large,
                            made_of);
    for (MPI_Count i = 0; i < counts; i++)
        fold(large[i]);
#else
    int integers = -1, addresses = -1, types = -1, whole[ROOM];
    MPI_Aint places[ROOM];
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    MPI_Type_get_contents(type, integers, addresses, types, whole, places, made_of);
#endif
    fold(combiner == MPI_COMBINER_NAMED);
    fold(integers);
    fold(addresses);
    fold_ints(whole, (int)integers);
    for (int i = 0; i < (int)types; i++)
        fold(made_of[i] == MPI_INT);
    F(MPI_Sendrecv)(out, 1, type, right, 1, in, 1, type, left, 1, everybody, &status);
    fold_ints(in, ROOM);
    MPI_Type_free(&type);
}

static void constructors(void)
{
    MPI_Datatype type, inner;
    COUNT lengths[3] = {2, 1, 3}, sizes[2] = {6, 6}, subsizes[2] = {2, 3}, starts[2] = {1, 2},
          extents[2] = {4, 4};
    COUNT places[3] = {0, 5, 9};
    OFFSET offsets[3] = {0, 24, 40};
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, grid[2] = {2, 2};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    F(MPI_Type_contiguous)(5, MPI_INT, &type);
    about(type);
    F(MPI_Type_vector)(4, 2, 5, MPI_INT, &type);
    about(type);
    F(MPI_Type_create_hvector)(3, 2, 20, MPI_INT, &type);
    about(type);
    F(MPI_Type_indexed)(3, lengths, places, MPI_INT, &type);
    about(type);
    F(MPI_Type_create_hindexed)(3, lengths, offsets, MPI_INT, &type);
    about(type);
    F(MPI_Type_create_indexed_block)(3, 2, places, MPI_INT, &type);
    about(type);
    F(MPI_Type_create_hindexed_block)(3, 1, offsets, MPI_INT, &type);
    about(type);
    F(MPI_Type_create_struct)(3, lengths, offsets, types, &type);
    about(type);
    F(MPI_Type_create_subarray)(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    about(type);
    F(MPI_Type_create_darray)(4, 1, 2, extents, kinds, arguments, grid, MPI_ORDER_C, MPI_INT,
                              &type);
    about(type);
    F(MPI_Type_create_resized)(MPI_INT, -4, 16, &inner);
    F(MPI_Type_contiguous)(3, inner, &type);
    MPI_Type_free(&inner);
    MPI_Type_dup(type, &inner);
    MPI_Type_free(&type);
    MPI_Type_commit(&inner);
    MPI_Count size = -1, lower = -1, extent = -1;
    MPI_Type_size_x(inner, &size);
    MPI_Type_get_extent_x(inner, &lower, &extent);
    fold(size);
    fold(lower);
    fold(extent);
    MPI_Type_get_true_extent_x(inner, &lower, &extent);
    fold(lower);
    fold(extent);
    MPI_Type_free(&inner);
}

static void packed(void)
{
    char buffer[256];
    int out[3] = {me, 2 * me, 3 * me}, in[3] = {-1, -1, -1};
    COUNT room = -1, at = 0;
    F(MPI_Pack_size)(3, MPI_INT, everybody, &room);
    F(MPI_Pack)(out, 3, MPI_INT, buffer, sizeof buffer, &at, everybody);
    fold(room >= at);
    fold(at);
    MPI_Sendrecv_replace(buffer, (int)at, MPI_PACKED, right, 2, left, 2, everybody,
                         MPI_STATUS_IGNORE);
    at = 0;
    F(MPI_Unpack)(buffer, sizeof buffer, &at, in, 3, MPI_INT, everybody);
    fold_ints(in, 3);
    OFFSET needed = -1, place = 0;
    F(MPI_Pack_external_size)("external32", 3, MPI_INT, &needed);
    F(MPI_Pack_external)("external32", out, 3, MPI_INT, buffer, sizeof buffer, &place);
    fold(needed);
    fold(place);
    place = 0;
    F(MPI_Unpack_external)("external32", buffer, sizeof buffer, &place, in, 3, MPI_INT);
    fold_ints(in, 3);
}

static void of_fortran(void)
{
    MPI_Datatype type;
    int size = -1;
    /* A build without Fortran has none. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int codes[4] = {MPI_Type_create_f90_real(10, MPI_UNDEFINED, &type),
                    MPI_Type_create_f90_integer(5, &type),
                    MPI_Type_create_f90_complex(10, MPI_UNDEFINED, &type),
                    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type)};
    for (int i = 0; i < 4; i++)
        fold_code(codes[i]);
    if (codes[3] == MPI_SUCCESS)
        MPI_Type_size(type, &size);
    fold(size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static int deleted(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)extra;
    fold(*(int *)value);
    return MPI_SUCCESS;
}

static void attributes(void)
{
    static int value = 5;
    int key, flag = -1, length = 0;
    void *found = NULL;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Type_set_attr(type, key, &value);
    MPI_Type_get_attr(type, key, &found, &flag);
    fold(flag && found == &value);
    MPI_Type_delete_attr(type, key);
    MPI_Type_free_keyval(&key);
    MPI_Type_set_name(type, "two of them");
    MPI_Type_get_name(type, name, &length);
    fold_text(name);
    MPI_Type_free(&type);
}

SECTION(datatypes)
{
    constructors();
    packed();
    of_fortran();
    attributes();
}

/* What MPI 1 had and MPI 3 has removed or advises against, where an MPI still has it. */
#include "sections.h"

void removed(void)
{
#ifdef DECLARED_MPI_Attr_put
    static int value = 9;
    int key = MPI_KEYVAL_INVALID, flag = -1;
    void *found = NULL;
    MPI_Keyval_create(MPI_NULL_COPY_FN, comm_deletes, &key, NULL);
    MPI_Attr_put(everybody, key, &value);
    MPI_Attr_get(everybody, key, &found, &flag);
    fold(flag && found == &value);
    MPI_Attr_delete(everybody, key);
    MPI_Keyval_free(&key);
#endif
#ifdef DECLARED_MPI_Errhandler_create
    MPI_Errhandler own, now;
    MPI_Errhandler_create(comm_told, &own);
    MPI_Errhandler_set(MPI_COMM_WORLD, own);
    MPI_Errhandler_get(MPI_COMM_WORLD, &now);
    fold(now == own);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&own);
#endif
#ifdef DECLARED_MPI_Type_struct
    MPI_Aint places[2] = {0, 16}, lower = -1, upper = -1, extent = -1, address = 0;
    int lengths[2] = {2, 1}, in[16] = {0}, out[16];
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, made[3];
    for (int i = 0; i < 16; i++)
        out[i] = 100 * me + i;
    MPI_Type_struct(2, lengths, places, types, &made[0]);
    MPI_Type_hindexed(2, lengths, places, MPI_INT, &made[1]);
    MPI_Type_hvector(2, 1, 8, MPI_INT, &made[2]);
    MPI_Address(in, &address);
    fold(address != 0);
    for (int i = 0; i < 3; i++) {
        MPI_Type_commit(&made[i]);
        MPI_Type_lb(made[i], &lower);
        MPI_Type_ub(made[i], &upper);
        MPI_Type_extent(made[i], &extent);
        fold(lower);
        fold(upper);
        fold(extent);
        MPI_Sendrecv(out, 1, made[i], right, i, in, 1, made[i], left, i, everybody,
                     MPI_STATUS_IGNORE);
        fold_ints(in, 16);
        MPI_Type_free(&made[i]);
    }
#endif
}

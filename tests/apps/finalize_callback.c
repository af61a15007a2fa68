/* An attribute of MPI_COMM_SELF is deleted first thing in MPI_Finalize, and its callback may still
 * communicate. */
#include "counting.h"

#include <mpi.h>
#include <stdio.h>

static int last_words(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    int sum, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)value);
    printf("%d ranks said goodbye\n", sum);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int rank, keyval;
    MPI_Comm friends;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    CALL(MPI_Comm_dup)(MPI_COMM_WORLD, &friends);
    CALL(MPI_Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, last_words, &keyval, NULL);
    CALL(MPI_Comm_set_attr)(MPI_COMM_SELF, keyval, &friends);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

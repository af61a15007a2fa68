/* An error handler leaves MPI by longjmp, on the first rank alone.
 *
 * All ranks go on together; some make communicators from a callback of MPI's, too. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>

static jmp_buf back;
static int me, all;

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

/* The copy of a communicator has a copy of the communicator that hangs on it. */
static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    MPI_Comm *copied = (MPI_Comm *)extra + 1;
    *flag = 1;
    *(void **)out = copied;
    return MPI_Comm_dup(*(MPI_Comm *)in, copied);
}

static void talk(const char *what, MPI_Comm comm)
{
    int number = me == 0 ? 42 : -1, sum = 0;
    double real = me == 0 ? 0.5 : -1;
    MPI_Bcast(&number, 1, MPI_INT, 0, comm);
    MPI_Bcast(&real, 1, MPI_DOUBLE, 0, comm);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("%s: %d %.1f, sum %d\n", what, number, real, sum);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (me == 0 && setjmp(back) == 0) {
        MPI_Send(&all, 1, MPI_INT, all, 0, MPI_COMM_WORLD);
        printf("not here\n");
    }

    MPI_Comm dup, half, again, hanging[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    talk("dup", dup);
    MPI_Comm_split(dup, me > 0, 0, &half);
    MPI_Barrier(half);

    int keyval;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, hanging);
    MPI_Comm_dup(dup, &hanging[0]);
    MPI_Comm_set_attr(dup, keyval, &hanging[0]);
    MPI_Comm_dup(dup, &again);
    talk("a dup of the dup", again);
    talk("what hangs on it", hanging[1]);
    MPI_Comm_dup(hanging[1], &hanging[0]);
    talk("its dup", hanging[0]);
    MPI_Comm_free(&again);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    MPI_Finalize();
    return 0;
}

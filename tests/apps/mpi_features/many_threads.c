/* More threads at one time than Invivo has locations for.
 *
 * The first rank starts many that stay, then calls from new ones what the other ranks call from
 * their only thread. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 80 };

static int me, all;
static MPI_Comm dup, idup;
static int last;
static pthread_barrier_t all_have_called, work_is_done;

static void *look(void *argument)
{
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&all_have_called);
    pthread_barrier_wait(&work_is_done);
    return flag ? NULL : argument;
}

/* Everybody has to do the same here, also what is done for them behind the scenes. */
static void *meet(void *argument)
{
    int value = 10 + me, sum = 0, in = -1;
    MPI_Request request, ring[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Bcast(&value, 1, MPI_INT, 0, dup);
    MPI_Comm_idup(dup, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, idup);
    MPI_Irecv(&in, 1, MPI_INT, (me + 1) % all, 2, idup, &ring[0]);
    MPI_Isend(&me, 1, MPI_INT, (me + all - 1) % all, 2, idup, &ring[1]);
    MPI_Waitall(2, ring, MPI_STATUSES_IGNORE);
    printf("value %d, sum %d, from the right %d\n", value, sum, in);
    last += value;
    return argument;
}

static void by_another_thread(void *(*work)(void *))
{
    pthread_t thread;
    void *done = NULL;
    pthread_create(&thread, NULL, work, &last);
    pthread_join(thread, &done);
    if (done != &last)
        printf("a thread has found what nobody sent\n");
}

int main(int argc, char **argv)
{
    int provided = -1, sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    pthread_t threads[THREADS];
    if (me == 0) {
        pthread_barrier_init(&all_have_called, NULL, THREADS + 1);
        pthread_barrier_init(&work_is_done, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, look, &last);
        pthread_barrier_wait(&all_have_called);
    }
    for (int i = 0; i < 3; i++) {
        if (me == 0)
            by_another_thread(meet);
        else
            meet(NULL);
        MPI_Allreduce(&last, &sum, 1, MPI_INT, MPI_SUM, dup);
        MPI_Comm_free(&idup);
        MPI_Comm_free(&dup);
    }
    if (me == 0) {
        pthread_barrier_wait(&work_is_done);
        for (int i = 0; i < THREADS; i++) {
            void *done = NULL;
            pthread_join(threads[i], &done);
            if (done != &last)
                printf("a thread has found what nobody sent\n");
        }
    }
    printf("provided %d, sum %d\n", provided, sum);
    MPI_Finalize();
    return 0;
}

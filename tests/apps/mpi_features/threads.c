/* Threads at the level of argument 1 (0 to 3), and OpenMP's workers.
 *
 * All threads that may call MPI at this level do; with MPI_THREAD_MULTIPLE all at once. OpenMP's
 * workers compute, also where only their master may call. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 50 };

static int me, all, level;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm own[THREADS];
static long sums[THREADS];

/* Rings on the world by tag, rings and collectives on the thread's own communicator, and a new one
 * now and then. */
static void *talk(void *argument)
{
    int number = (int)(size_t)argument, left = (me + all - 1) % all, right = (me + 1) % all;
    for (int round = 0; round < ROUNDS; round++) {
        int out = 1000 * number + round, in = -1, sum = 0;
        MPI_Request requests[2];
        if (level == MPI_THREAD_SERIALIZED)
            pthread_mutex_lock(&turn);
        MPI_Irecv(&in, 1, MPI_INT, left, number,
                  level == MPI_THREAD_MULTIPLE ? MPI_COMM_WORLD : own[number], &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, right, number,
                  level == MPI_THREAD_MULTIPLE ? MPI_COMM_WORLD : own[number], &requests[1]);
        if (level == MPI_THREAD_MULTIPLE) {
            MPI_Waitall(2, requests, round % 2 ? MPI_STATUSES_IGNORE : (MPI_Status[2]){{0}});
            MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, own[number]);
            if (round % 10 == 0) {
                MPI_Comm again;
                MPI_Comm_dup(own[number], &again);
                MPI_Barrier(again);
                MPI_Comm_free(&again);
            }
        }
        if (level == MPI_THREAD_SERIALIZED)
            pthread_mutex_unlock(&turn);
        while (level == MPI_THREAD_SERIALIZED) {
            /* Waiting with the mutex would be a deadlock, and how often one asks depends on the
             * clock. */
            int done = 0;
            pthread_mutex_lock(&turn);
            MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
            pthread_mutex_unlock(&turn);
            if (done)
                break;
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        }
        sums[number] += in + sum;
    }
    return NULL;
}

/* The workers compute while their master, the main thread, talks. */
static void team(void)
{
    double parts[THREADS] = {0}, total = 0, of_all = 0;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(static)
        for (int part = 0; part < THREADS; part++)
            for (int i = 0; i < 1000; i++)
                parts[part] += i % 7;
#pragma omp master
        for (int round = 0; round < 5; round++) {
            int out = round, in = -1;
            MPI_Sendrecv(&out, 1, MPI_INT, (me + 1) % all, 9, &in, 1, MPI_INT, (me + all - 1) % all,
                         9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sums[0] += in;
        }
    }
    for (int part = 0; part < THREADS; part++)
        total += parts[part];
    MPI_Allreduce(&total, &of_all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    printf("team: %.0f of %.0f\n", total, of_all);
}

static void *ask(void *argument)
{
    (void)argument;
    int main_thread = -1, initialized = -1;
    MPI_Initialized(&initialized);
    MPI_Is_thread_main(&main_thread);
    printf("another thread: initialized %d, main %d\n", initialized, main_thread);
    return NULL;
}

int main(int argc, char **argv)
{
    int asked = argc > 1 ? atoi(argv[1]) : MPI_THREAD_MULTIPLE, provided = -1, main_thread = -1;
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    level = levels[asked];
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    printf("asked for %d, provided %d\n", level, provided);
    MPI_Query_thread(&provided);
    MPI_Is_thread_main(&main_thread);
    printf("query %d, main thread %d\n", provided, main_thread);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    if (level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED)
        team();
    else {
        pthread_t threads[THREADS];
        for (size_t i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, talk, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_create(&threads[0], NULL, ask, NULL);
        pthread_join(threads[0], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        printf("sum %d: %ld\n", i, sums[i]);
        MPI_Comm_free(&own[i]);
    }
    MPI_Finalize();
    return 0;
}

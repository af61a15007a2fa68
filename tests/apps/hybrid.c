/* Ranks with two threads of OpenMP, one kind of rounds after the other (`healthy/kinds.h` says how):
 * "both" threads compute for all of the time; "serial": one of them for most of it; "one_serial":
 * the same, and in rank 1 there is one thread alone, which takes longer.
 *
 * How long a thread waits for the next parallel part before it sleeps is OpenMP's own: serial parts
 * are far longer. */
#include "healthy/kinds.h"
#include "own_clock.h"

static int value, sum;

/* Computes in so many threads for so long each, by their own clocks. */
static void in_parallel(int threads, double ms)
{
#pragma omp parallel num_threads(threads)
    compute(ms);
}

static void both(int round)
{
    (void)round;
    in_parallel(2, 20);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void serial(int round)
{
    (void)round;
    compute(100);
    in_parallel(2, 5);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void one_serial(int round)
{
    (void)round;
    if (rank == 1)
        compute(20);
    else
        in_parallel(2, 3);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at one_serial */
}

static const struct kind kinds[] = {
    {"both", both, 2},
    {"serial", serial, 1},
    {"one_serial", one_serial, 5},
};

int main(int argc, char **argv)
{
    begin_kinds(argc, argv);
    run_kinds(kinds, sizeof kinds / sizeof kinds[0], NULL);
    end_kinds();
    return 0;
}

// Exceptions through regions: `region_trouble_cxx`.
//
// Functions that the compiler instruments, and a region of a scope, are left by an exception, or
// pass one on that they have caught. Each rank writes "NAME VISITS" to LOG_DIR/RANK.regions before
// MPI_Finalize: how often each was begun. `ordinary` comes before and behind.
#include "invivo_regions.h"
#include "region_log.h"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#define A_FRAME __attribute__((noinline, noclone))
#define UNSEEN __attribute__((no_instrument_function))

static const int TIMES = 1000, ORDINARY = 5;

struct Thrown {
    int number;
};

static struct {
    long ordinary, throwing, passing, scoped, scope, catching, again;
} visits;
static volatile int left;

A_FRAME static void ordinary()
{
    visits.ordinary++;
    left = 1;
}

A_FRAME static void throwing(int number)
{
    visits.throwing++;
    throw Thrown{number};
}

A_FRAME static void passing(int number)
{
    visits.passing++;
    throwing(number);
    left = 2;
}

A_FRAME static void scoped(int number)
{
    visits.scoped++;
    visits.scope++;
    invivo::Region region("scope");
    passing(number);
    left = 3;
}

A_FRAME static int catching(int number)
{
    visits.catching++;
    try {
        scoped(number);
    } catch (const Thrown &thrown) {
        return thrown.number;
    }
    return -1;
}

// Catches, calls, and throws the same again.
A_FRAME static void again(int number)
{
    visits.again++;
    try {
        scoped(number);
    } catch (const Thrown &) {
        ordinary();
        throw;
    }
}

UNSEEN static void write_visits(int rank)
{
    FILE *file = region_log_file(rank);
    std::fprintf(file, "ordinary %ld\nthrowing %ld\npassing %ld\nscoped %ld\n", visits.ordinary,
                 visits.throwing, visits.passing, visits.scoped);
    std::fprintf(file, "scope %ld\ncatching %ld\nagain %ld\n", visits.scope, visits.catching,
                 visits.again);
    if (std::fclose(file))
        std::exit(70);
}

int main(int argc, char **argv)
{
    int rank, caught = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < ORDINARY; i++)
        ordinary();
    for (int i = 0; i < TIMES; i++) {
        caught += catching(1);
        try {
            again(2);
        } catch (const Thrown &thrown) {
            caught += thrown.number;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ORDINARY; i++)
        ordinary();
    write_visits(rank);
    region_log_wait(rank);
    MPI_Finalize();
    std::printf("rank %d: caught %d\n", rank, caught);
    return 0;
}

/* Computing by a thread's own clock. */
#ifndef OWN_CLOCK_H
#define OWN_CLOCK_H

#include <time.h>

static double ms_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

/* Computes for so long on a processor, however long it has to wait for one. */
static void compute(double ms)
{
    const double end = ms_of(CLOCK_THREAD_CPUTIME_ID) + ms;
    while (ms_of(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

#endif

/* Work at some depth of calls, so that what a sample costs can be seen: one rank, told by lines on
 * its standard input.
 *   DEPTH BATCHES   works as many times, with DEPTH calls between main and the work. Prints lines
 *                   `time WALL CPU`, ms of one batch, then `done`
 * It begins with `pid NUMBER`, and ends with its input. Compiled with frame pointers. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Some 15 ms. */
enum { WORK = 12000000 };

static double clock_ms(clockid_t which) {
    struct timespec time;
    clock_gettime(which, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

/* Each step waits for the one before it: the processor has no choice how long that takes. */
__attribute__((noinline, noclone)) static unsigned long worked(unsigned long number) {
    for (int i = 0; i < WORK; i++) {
        number = number * 6364136223846793005ul + 1442695040888963407ul;
        __asm__ volatile("" : "+r"(number));
    }
    return number;
}

__attribute__((noinline, noclone)) static unsigned long deeper(int depth, unsigned long number) {
    number = depth > 1 ? deeper(depth - 1, number) : worked(number);
    /* Something to return for: a frame that is left before the call is in no stack. */
    __asm__ volatile("" : "+r"(number));
    return number;
}

int main(int argc, char **argv) {
    int depth, batches;
    unsigned long number = 1;
    char line[64];
    MPI_Init(&argc, &argv);
    printf("pid %d\n", getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && sscanf(line, "%d %d", &depth, &batches) == 2) {
        for (int batch = 0; batch < batches; batch++) {
            double wall = clock_ms(CLOCK_MONOTONIC), cpu = clock_ms(CLOCK_THREAD_CPUTIME_ID);
            number = deeper(depth, number);
            cpu = clock_ms(CLOCK_THREAD_CPUTIME_ID) - cpu;
            printf("time %.6f %.6f\n", clock_ms(CLOCK_MONOTONIC) - wall, cpu);
        }
        printf("done\n");
        fflush(stdout);
    }
    /* Nobody can leave the work out. */
    printf("number %lu\n", number);
    return MPI_Finalize();
}

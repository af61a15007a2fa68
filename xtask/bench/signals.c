/* The bare minimum of a command that reaches computing processes: a signal to each, and a flag that each handler
 * sets. Prints the time until the last flag, in ns, once per round. Usage: signals PROCESSES ROUNDS */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int *flags;
static volatile int me; /* read by the handler alone */

static void handler(int number) {
    (void)number;
    atomic_store(&flags[me * 64], 1);
}

static long long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 200;
    pid_t *children = calloc(count, sizeof *children);
    flags = mmap(NULL, count * 64 * sizeof *flags, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    signal(SIGUSR1, handler);
    for (int i = 0; i < count; i++)
        if ((children[i] = fork()) == 0) {
            me = i;
            for (volatile unsigned long work = 0;; work++) {}
        }
    for (int round = 0; round < rounds; round++) {
        usleep(20000);
        for (int i = 0; i < count; i++) atomic_store(&flags[i * 64], 0);
        long long begin = now_ns();
        for (int i = 0; i < count; i++) kill(children[i], SIGUSR1);
        for (int i = 0; i < count; i++)
            while (!atomic_load(&flags[i * 64])) usleep(20);
        printf("%lld\n", now_ns() - begin);
    }
    for (int i = 0; i < count; i++) kill(children[i], SIGKILL);
    while (wait(NULL) > 0) {}
    return 0;
}

/* Writes its process id into pid.RANK and each signal that it gets into got.RANK, until there is a file "stop". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static FILE *open_for(const char *kind, const char *rank)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", kind, rank);
    return fopen(name, "a");
}

int main(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    FILE *pid = open_for("pid", rank);
    fprintf(pid, "%d\n", getpid());
    fclose(pid);
    while (access("stop", F_OK) != 0) {
        struct timespec wait = {0, 20000000};
        int signal = sigtimedwait(&all, NULL, &wait);
        if (signal <= 0) continue;
        FILE *got = open_for("got", rank);
        fprintf(got, "%s\n", sigabbrev_np(signal));
        fclose(got);
    }
    return 0;
}

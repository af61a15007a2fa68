/* A rank that starts processes of its own: fork, system, popen. They see nothing of MPI, nor of
 * anybody who watches. */
#include "sections.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void processes(void)
{
    int ends[2], status = -1, value = -1;
    fflush(stdout);
    if (pipe(ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        /* What a child may ask without talking to anybody. */
        int rank = -1, size = -1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        value = 100 * rank + size;
        ssize_t written = write(ends[1], &value, sizeof value);
        _exit(written == sizeof value ? 9 : 1);
    }
    ssize_t got = read(ends[0], &value, sizeof value);
    waitpid(child, &status, 0);
    say("a child said %d (%d) and left with %d", value, got == sizeof value, WEXITSTATUS(status));
    close(ends[0]);
    close(ends[1]);

    /* A child of a child that becomes another program, while its parent talks. */
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        _exit(1);
    }
    int sum = -1;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    waitpid(child, &status, 0);
    say("sum %d meanwhile; it left with %d", sum, WEXITSTATUS(status));

    status = system("exit 5");
    say("system: %d", WEXITSTATUS(status));
    status = system("env | grep -c '^INVIVO_FDS\\|libinvivo' >/dev/null && exit 1; exit 0");
    say("somebody in the environment: %d", WEXITSTATUS(status));
    FILE *stream = popen("echo $((6 * 7)); echo to nobody >&2", "r");
    char line[64] = "";
    if (stream && fgets(line, sizeof line, stream))
        line[strcspn(line, "\n")] = 0;
    status = stream ? pclose(stream) : -1;
    say("popen: %s, %d", line, WEXITSTATUS(status));
    say("descriptors of ours that a child inherits: %d",
        system("ls -l /proc/self/fd | grep -c invivo >/dev/null") == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

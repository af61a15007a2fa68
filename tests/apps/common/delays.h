/* What keeps a rank from computing outside of MPI: others on its processor, files, services. */
#ifndef DELAYS_H
#define DELAYS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "own_clock.h"

static pid_t neighbour;
static cpu_set_t own_processors;

/* From now on this process shares one processor with another one, which never sleeps. */
static void begin_neighbour(void)
{
    const int processor = sched_getcpu();
    const pid_t parent = getpid();
    cpu_set_t one;
    if (neighbour)
        return;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    if (processor < 0 || sched_getaffinity(0, sizeof own_processors, &own_processors) ||
        sched_setaffinity(0, sizeof one, &one))
        exit(71);
    neighbour = fork();
    if (neighbour < 0)
        exit(72);
    if (neighbour == 0) {
        /* It ends with its parent, however that ends; and it calls nothing of MPI. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        for (volatile unsigned spin = 0;; spin++)
            ;
    }
}

/* The processor is this process' own again. */
static void end_neighbour(void)
{
    if (!neighbour)
        return;
    kill(neighbour, SIGKILL);
    waitpid(neighbour, NULL, 0);
    sched_setaffinity(0, sizeof own_processors, &own_processors);
    neighbour = 0;
}

/* Writes a block to a file in LOG_DIR and waits until it is on the disk. The file has no name, so
 * that none is left. */
static void write_to_disk(const char *block, size_t bytes)
{
    static int file = -1;
    if (file < 0)
        file = open(getenv("LOG_DIR"), O_TMPFILE | O_RDWR, 0600);
    if (pwrite(file, block, bytes, 0) != (ssize_t)bytes || fsync(file))
        exit(73);
}

/* Waits for the answer of another process, which takes so long: unlike a disk, it always does. */
static void wait_for_service(double ms)
{
    static int ends[2] = {-1, -1};
    const pid_t parent = getpid();
    char byte = 0;
    if (ends[0] < 0) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
            exit(74);
        const pid_t service = fork();
        if (service < 0)
            exit(75);
        if (service == 0) {
            const struct timespec length = {0, (long)(ms * 1e6)};
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(0);
            /* It ends when its parent does, or closes the other end. */
            close(ends[0]);
            while (read(ends[1], &byte, 1) == 1) {
                nanosleep(&length, NULL);
                if (write(ends[1], &byte, 1) != 1)
                    break;
            }
            _exit(0);
        }
        close(ends[1]);
    }
    if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
        exit(76);
}

#endif

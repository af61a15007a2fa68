/* Threads that sleep in system calls and count interruptions until LOG_DIR/stop appears.
 *
 * An interruption is a call that returned with EINTR, or before its time. One thread counts
 * signals that queue. The output is the same however often the threads' stacks are taken from
 * outside. */
#define _GNU_SOURCE
#include "counting.h"
#include "flag_file.h"

#include <errno.h>
#include <linux/futex.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NAP_MS = 200, SIGNALS = 2000 };

static int quiet_pipe[2], quiet_sockets[2], epoll_file, semaphore;
static int word;
static volatile sig_atomic_t signals_seen;
static volatile int over;

static struct timespec nap(void)
{
    struct timespec time = {NAP_MS / 1000, NAP_MS % 1000 * 1000000L};
    return time;
}

/* Each sleeps once, for NAP_MS or until it is woken; 0, or what went wrong. */
static int by_nanosleep(void)
{
    struct timespec time = nap();
    return nanosleep(&time, NULL) ? errno : 0;
}

static int by_poll(void)
{
    struct pollfd file = {quiet_pipe[0], POLLIN, 0};
    return poll(&file, 1, NAP_MS) < 0 ? errno : 0;
}

static int by_select(void)
{
    fd_set files;
    struct timeval time = {0, NAP_MS * 1000};
    FD_ZERO(&files);
    FD_SET(quiet_pipe[0], &files);
    return select(quiet_pipe[0] + 1, &files, NULL, NULL, &time) < 0 ? errno : 0;
}

static int by_futex(void)
{
    struct timespec time = nap();
    long done = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
    return done < 0 && errno != ETIMEDOUT ? errno : 0;
}

static int by_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_file, &event, 1, NAP_MS) < 0 ? errno : 0;
}

static int by_sigtimedwait(void)
{
    struct timespec time = nap();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 5);
    return sigtimedwait(&set, NULL, &time) < 0 && errno != EAGAIN ? errno : 0;
}

static int by_recv(void)
{
    char byte;
    return recv(quiet_sockets[0], &byte, 1, 0) < 0 && errno != EAGAIN ? errno : 0;
}

static int by_semtimedop(void)
{
    struct timespec time = nap();
    struct sembuf take = {0, -1, 0};
    return semtimedop(semaphore, &take, 1, &time) < 0 && errno != EAGAIN ? errno : 0;
}

/* Until the pipe is closed. */
static int by_read(void)
{
    char byte;
    return read(quiet_pipe[0], &byte, 1) < 0 ? errno : 0;
}

static struct sleeper {
    const char *name;
    int (*sleep)(void);
    int is_long;
    pthread_t thread;
    int interrupted, early, other;
} sleepers[] = {
    {"nanosleep", by_nanosleep, 0, 0, 0, 0, 0}, {"poll", by_poll, 0, 0, 0, 0, 0},
    {"select", by_select, 0, 0, 0, 0, 0},       {"futex", by_futex, 0, 0, 0, 0, 0},
    {"epoll", by_epoll, 0, 0, 0, 0, 0},         {"sigtimedwait", by_sigtimedwait, 0, 0, 0, 0, 0},
    {"recv", by_recv, 0, 0, 0, 0, 0},           {"semtimedop", by_semtimedop, 0, 0, 0, 0, 0},
    {"read", by_read, 1, 0, 0, 0, 0},
};
enum { SLEEPERS = sizeof sleepers / sizeof *sleepers };

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void *sleeps(void *argument)
{
    struct sleeper *own = argument;
    while (!over) {
        double since = now_ms();
        int error = own->sleep();
        own->interrupted += error == EINTR;
        own->other += error != 0 && error != EINTR;
        own->early += !over && (own->is_long || now_ms() - since < NAP_MS - 1);
    }
    return NULL;
}

static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}

static void *is_signalled(void *argument)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 4);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    while (signals_seen < SIGNALS && !flag_is_set("give up"))
        usleep(1000);
    return argument;
}

int main(int argc, char **argv)
{
    int rank, provided;
    sigset_t set;
    struct sigaction action;
    struct timeval time = {0, NAP_MS * 1000};
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 4);
    sigaddset(&set, SIGRTMIN + 5);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);

    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    sigaction(SIGRTMIN + 4, &action, NULL);
    epoll_file = epoll_create1(0);
    semaphore = semget(IPC_PRIVATE, 1, 0600);
    if (pipe(quiet_pipe) || socketpair(AF_UNIX, SOCK_STREAM, 0, quiet_sockets) || epoll_file < 0 ||
        semaphore < 0)
        return 1;
    setsockopt(quiet_sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);

    pthread_t signalled;
    pthread_create(&signalled, NULL, is_signalled, NULL);
    for (int i = 0; i < SLEEPERS; i++)
        pthread_create(&sleepers[i].thread, NULL, sleeps, &sleepers[i]);
    for (int i = 0; i < SIGNALS; i++) {
        union sigval nothing = {0};
        while (pthread_sigqueue(signalled, SIGRTMIN + 4, nothing) == EAGAIN)
            usleep(1000);
        usleep(500);
    }
    pthread_join(signalled, NULL);
    while (!flag_is_set("stop"))
        usleep(10000);
    over = 1;
    close(quiet_pipe[1]);
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(sleepers[i].thread, NULL);
        printf("rank %d: %s: %d interrupted, %d early, %d wrong\n", rank, sleepers[i].name,
               sleepers[i].interrupted, sleepers[i].early, sleepers[i].other);
    }
    printf("rank %d: %d signals\n", rank, (int)signals_seen);
    semctl(semaphore, 0, IPC_RMID);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

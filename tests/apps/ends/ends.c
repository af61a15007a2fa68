/* Ends a job in the way of its argument: `ends WAY [CODE]`.
 *
 * Before that, rank 0 sends ROUNDS messages to rank 1, and all ranks meet at a barrier.
 *
 *   normal           through MPI_Finalize, status CODE
 *   exit             exit(CODE) behind MPI_Finalize
 *   exit-early       rank 1 calls exit(CODE) while the others are in a barrier
 *   return           without MPI_Finalize, status CODE
 *   abort            rank 1 calls MPI_Abort(CODE), the others are in a barrier
 *   abort-late       the same, a moment after the others came to MPI_Finalize
 *   fault            rank 1 writes to address 0, the others are in a barrier
 *   kill             rank 1 kills itself with SIGKILL, the others are in a barrier
 *   exhaust          rank 1 takes memory until it is killed for that, the others are in a barrier
 *   stay             rank 1 waits outside of MPI and the others in MPI_Recv, for ever
 *   save             both wait for SIGTERM, save for three seconds, and go through MPI_Finalize,
 *                    status CODE
 *   hang             rank 1 waits for ever in a callback of MPI_Finalize
 *
 * In the last three each rank leaves LOG_DIR/RANK.ready. SIGUSR2 is answered with a line, and the
 * job goes on.
 *
 * Each rank notes its calls in LOG_DIR/RANK.calls: at byte 0 the last call that returned, at byte
 * 64 the one that has not, each as NAME NUMBER. The number is the message's tag, or the barrier's
 * number. A note outlives the rank, however it ends. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 40 };

static int rank;

static int calls = -1;

static void note(off_t at, const char *name, int number)
{
    char text[64];
    memset(text, ' ', sizeof text);
    int length = snprintf(text, sizeof text, "%s %d", name, number);
    text[length] = ' ';
    if (pwrite(calls, text, sizeof text, at) != sizeof text)
        _exit(98);
}

static void open_notes(void)
{
    const char *logs = getenv("LOG_DIR");
    char name[4096];
    snprintf(name, sizeof name, "%s/%d.calls", logs ? logs : ".", rank);
    calls = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

static void entering(const char *name, int number)
{
    note(64, name, number);
}

static void left(const char *name, int number)
{
    note(0, name, number);
    note(64, "none", 0);
}

static void barrier(int number)
{
    entering("MPI_Barrier", number);
    MPI_Barrier(MPI_COMM_WORLD);
    left("MPI_Barrier", number);
}

static void ready(void)
{
    const char *logs = getenv("LOG_DIR");
    char name[4096];
    snprintf(name, sizeof name, "%s/%d.ready", logs ? logs : ".", rank);
    FILE *file = fopen(name, "w");
    if (file)
        fclose(file);
}

static void stay(void)
{
    for (;;)
        pause();
}

static volatile sig_atomic_t asked_to_end;

static void to_end(int number)
{
    (void)number;
    asked_to_end = 1;
}

static void save(void)
{
    while (!asked_to_end)
        usleep(10000);
    for (int piece = 0; piece < 300; piece++)
        usleep(10000);
}

static void told(int number)
{
    static const char line[] = "told to come to an end\n";
    (void)number;
    if (write(1, line, sizeof line - 1) < 0)
        _exit(99);
}

/* A limit of memory is to be in force. */
static void exhaust(void)
{
    enum { PIECE = 1 << 20 };
    static char *volatile newest;
    for (;;) {
        newest = malloc(PIECE);
        if (newest)
            memset(newest, 1, PIECE);
    }
}

static void abort_by(int code)
{
    entering("MPI_Abort", 0);
    MPI_Abort(MPI_COMM_WORLD, code);
    /* MPICH 5.0's comes back, and the launcher kills a moment later. */
    stay();
}

static int last_callback(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    ready();
    if (rank == 1)
        stay();
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "normal";
    int code = argc > 2 ? atoi(argv[2]) : 0, value = 0;
    signal(SIGUSR2, told);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    open_notes();
    for (int round = 0; round < ROUNDS; round++) {
        const char *name = rank == 0 ? "MPI_Send" : "MPI_Recv";
        entering(name, round);
        if (rank == 0)
            MPI_Send(&round, 1, MPI_INT, 1, round, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(&value, 1, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        left(name, round);
    }
    barrier(0);
    printf("rank %d: %d messages\n", rank, ROUNDS);
    fflush(stdout);
    /* From here on launchers may kill, and drop what they have not passed on yet. */
    usleep(100000);
    barrier(1);

    if (!strcmp(way, "return"))
        return code;
    if (!strcmp(way, "hang")) {
        int keyval;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_callback, &keyval, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    } else if (!strcmp(way, "stay")) {
        if (rank == 0)
            entering("MPI_Recv", 1);
        ready();
        if (rank == 1)
            stay();
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(way, "save")) {
        signal(SIGTERM, to_end);
        ready();
        save();
        barrier(2);
        printf("rank %d: saved\n", rank);
    } else if (!strcmp(way, "abort-late")) {
        if (rank == 1) {
            usleep(500000);
            abort_by(code);
        }
    } else if (strcmp(way, "normal") && strcmp(way, "exit")) {
        /* The others come to their barrier meanwhile. */
        if (rank == 1)
            usleep(500000);
        if (rank == 1 && !strcmp(way, "exit-early"))
            exit(code);
        if (rank == 1 && !strcmp(way, "abort"))
            abort_by(code);
        if (rank == 1 && !strcmp(way, "fault"))
            *(int *volatile)NULL = 0;
        if (rank == 1 && !strcmp(way, "kill"))
            kill(getpid(), SIGKILL);
        if (rank == 1 && !strcmp(way, "exhaust"))
            exhaust();
        barrier(2);
    }
    entering("MPI_Finalize", 0);
    MPI_Finalize();
    if (!strcmp(way, "exit"))
        exit(code);
    return code;
}

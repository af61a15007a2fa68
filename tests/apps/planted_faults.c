/* Programs with a known fault, one after the other (`healthy/kinds.h` says how), and two healthy
 * ones.
 *
 * Work is sleep outside of MPI, but where a processor is what is missing. `at KIND` marks the line
 * with most of the time in MPI, `of RANK in KIND` lines of ranks that are late each to its own. */
#include "delays.h"
#include "healthy/kinds.h"

enum { LARGE = 1 << 20, WRITTEN = 1 << 16, SINGLE = 4000, UNDER_WAY = 200 };
/* The most that neighbours exchange, and how much more it is in each round. */
enum { GROWN_MAX = 1 << 23, GROWN_BY = 1 << 12 };
/* For how long a rank is slow that is slow for a while. */
static const double SLOW_MS = 900;

static int value, sum, all[64];
static char block[LARGE], grown[2][GROWN_MAX];
static MPI_Comm half;

/* One rank works longer than the others. */
static void work_unless(int late, double late_ms, double ms)
{
    work(rank == late ? late_ms : ms);
}

static void balanced(int round)
{
    (void)round;
    work(25);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void halo(int round)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    work(25);
    MPI_Sendrecv(&round, 1, MPI_INT, right, 0, &value, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void imbalance(int round)
{
    (void)round;
    work_unless(2, 9, 3);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at imbalance */
}

static void stall(int round)
{
    work_unless(1, round % 3 ? 2 : 40, 2);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at stall */
}

static void serial_section(int round)
{
    (void)round;
    if (rank == 0)
        work(8);
    MPI_Barrier(MPI_COMM_WORLD); /* at serial_section */
    work(2);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void late_root(int round)
{
    (void)round;
    work_unless(3, 8, 1);
    MPI_Bcast(&value, 1, MPI_INT, 3, MPI_COMM_WORLD); /* at late_root */
}

static void late_sender(int round)
{
    work_unless(1, 8, 1);
    for (int to = 0; rank == 1 && to < size; to++)
        if (to != 1)
            MPI_Send(&round, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    if (rank != 1)
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* at late_sender */
}

static void late_neighbour(int round)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2];
    work_unless(2, 8, 1);
    MPI_Irecv(&value, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&round, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* at late_neighbour */
}

static void late_in_half(int round)
{
    (void)round;
    work_unless(3, 12, 2);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Barrier(MPI_COMM_WORLD); /* at late_in_half */
}

static void late_to_alltoall(int round)
{
    (void)round;
    work_unless(1, 8, 2);
    MPI_Alltoall(all, 1, MPI_INT, all + 32, 1, MPI_INT, MPI_COMM_WORLD); /* at late_to_alltoall */
}

static void late_to_reduce(int round)
{
    (void)round;
    work_unless(3, 8, 2);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* at late_to_reduce */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void late_to_scan(int round)
{
    (void)round;
    work_unless(0, 8, 2);
    MPI_Scan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at late_to_scan */
}

/* The others have posted it long before, and have nothing else to do. */
static void late_post(int round)
{
    MPI_Request posted;
    (void)round;
    work_unless(2, 8, 2);
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &posted);
    MPI_Wait(&posted, MPI_STATUS_IGNORE); /* at late_post */
}

/* Rank 0 has some work for each message of the others. */
static void busy_master(int round)
{
    for (int from = 1; rank == 0 && from < size; from++) {
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        work(2);
        MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    if (rank != 0) {
        work(0.5);
        MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* at busy_master */
    }
}

static void short_turns(int round)
{
    (void)round;
    for (int turn = 0; turn < size; turn++) {
        if (rank == turn)
            work(2);
        MPI_Barrier(MPI_COMM_WORLD); /* at short_turns */
    }
}

static void long_turns(int round)
{
    (void)round;
    for (int turn = 0; turn < size; turn++) {
        if (rank == turn)
            work(60);
        MPI_Barrier(MPI_COMM_WORLD); /* at long_turns */
    }
}

static void moving(int round)
{
    work_unless(round % size, 6, 1);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at moving */
}

static void contention(int round)
{
    (void)round;
    for (int from = 1; rank == 0 && from < size; from++)
        MPI_Recv(block, LARGE, MPI_BYTE, from, 0, MPI_COMM_WORLD, /* of 0 in contention */
                 MPI_STATUS_IGNORE);
    if (rank != 0)
        MPI_Ssend(block, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD); /* at contention */
}

/* Rank 1 has only a part of a processor: another process computes there as well. */
static void shared_processor(int round)
{
    (void)round;
    if (rank == 1) {
        begin_neighbour();
        compute(6);
    } else {
        work(4);
    }
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at shared_processor */
}

/* Rank 2 waits for its disk, and, as disks may be fast, for another process. */
static void io_stall(int round)
{
    (void)round;
    if (rank == 2) {
        write_to_disk(block, WRITTEN);
        wait_for_service(8);
    } else {
        work(2);
    }
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at io_stall */
}

/* Values go one by one where one message would do. Some are always under way, so that a rank need
 * not wait until its neighbour runs. */
static void tiny_messages(int round)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int one = 0; one < UNDER_WAY; one++)
        MPI_Send(&round, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    for (int one = 0; one < SINGLE; one++)
        MPI_Sendrecv(&one, 1, MPI_INT, right, 0, &value, 1, MPI_INT, /* at tiny_messages */
                     left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int one = 0; one < UNDER_WAY; one++)
        MPI_Recv(&value, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Values are summed one by one where one sum of many would do: some for each rank. */
static void many_collectives(int round)
{
    (void)round;
    for (int one = 0; one < SINGLE; one++)
        MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, one / 50 % size, /* at many_collectives */
                   MPI_COMM_WORLD);
}

/* A rank is slow for about a second, as by a visitor on its node, and then as fast as the others. */
static void slow_for_a_while(int round)
{
    static double begun;
    (void)round;
    if (begun == 0)
        begun = ms_of(CLOCK_MONOTONIC);
    const int is_slow = ms_of(CLOCK_MONOTONIC) < begun + SLOW_MS;
    work_unless(2, is_slow ? 200 : 50, 50);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* at slow_for_a_while */
}

/* Two phases, in each of which another rank has more work. */
static void two_phases(int round)
{
    (void)round;
    for (int step = 0; step < 10; step++) {
        work_unless(1, 8, 2);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* of 1 in two_phases */
    }
    for (int step = 0; step < 10; step++) {
        work_unless(3, 8, 2);
        MPI_Barrier(MPI_COMM_WORLD); /* of 3 in two_phases */
    }
}

/* What neighbours exchange becomes more with each round. */
static void growing_messages(int round)
{
    static int bytes;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    (void)round;
    bytes = bytes + GROWN_BY < GROWN_MAX ? bytes + GROWN_BY : GROWN_MAX;
    for (int one = 0; one < 10; one++)
        MPI_Sendrecv(grown[0], bytes, MPI_BYTE, right, 0, grown[1], /* at growing_messages */
                     bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 takes messages by their senders' numbers, and that of rank 1 comes last: those of the
 * others are there while it waits, and their part of the work is done when all have come. */
static void wrong_order(int round)
{
    if (rank == 0)
        for (int from = 1; from < size; from++) {
            MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, /* at wrong_order */
                     MPI_STATUS_IGNORE);
            work(0.3);
        }
    else {
        work(rank == 1 ? 8 : 1);
        MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (rank != 1)
            work(7);
    }
}

static const struct kind kinds[] = {
    {"balanced", balanced, 2},
    {"halo", halo, 2},
    {"slow_for_a_while", slow_for_a_while, 1},
    {"two_phases", two_phases, 1},
    {"growing_messages", growing_messages, 1},
    {"imbalance", imbalance, 6},
    {"stall", stall, 6},
    {"serial_section", serial_section, 5},
    {"late_root", late_root, 6},
    {"late_sender", late_sender, 6},
    {"late_neighbour", late_neighbour, 6},
    {"late_in_half", late_in_half, 5},
    {"late_to_alltoall", late_to_alltoall, 6},
    {"late_to_reduce", late_to_reduce, 6},
    {"late_to_scan", late_to_scan, 6},
    {"late_post", late_post, 6},
    {"busy_master", busy_master, 5},
    {"short_turns", short_turns, 5},
    {"long_turns", long_turns, 1},
    {"moving", moving, 12},
    {"contention", contention, 20},
    {"shared_processor", shared_processor, 5},
    {"io_stall", io_stall, 6},
    {"tiny_messages", tiny_messages, 1},
    {"many_collectives", many_collectives, 1},
    {"wrong_order", wrong_order, 6},
};

int main(int argc, char **argv)
{
    begin_kinds(argc, argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    run_kinds(kinds, sizeof kinds / sizeof kinds[0], end_neighbour);
    MPI_Comm_free(&half);
    end_kinds();
    return 0;
}

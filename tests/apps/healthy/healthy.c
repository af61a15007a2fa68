/* Healthy programs of different kinds, one after the other (`kinds.h` says how), whose ranks have
 * equal work: of each the results are checked, and a rank that finds a wrong one ends the job.
 *
 * Work is sleep outside of MPI, and what is computed of messages is little beside it. */
#include "kinds.h"

#include <string.h>

enum { WIDTH = 256, HEIGHT = 32, BLOCK = 64, LARGE = 1 << 20, WINDOW = 64, RANKS_MAX = 8 };

static double grid[HEIGHT + 2][WIDTH], next_grid[HEIGHT + 2][WIDTH];
static int matrix[RANKS_MAX * BLOCK * BLOCK], transposed[RANKS_MAX * BLOCK * BLOCK];
static char block[LARGE];
static MPI_Comm row, column, line;
static MPI_Win window;
static long *mapped;
static int left, right, above, below;
static MPI_Request persistent[4];

static void must(int is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 71);
}

static void smooth(int first, int last)
{
    for (int y = first; y <= last; y++)
        for (int x = 1; x < WIDTH - 1; x++)
            next_grid[y][x] =
                (grid[y - 1][x] + grid[y + 1][x] + grid[y][x - 1] + grid[y][x + 1]) / 4;
}

/* Heat in a grid of which each rank has some lines: the borders come before the work. */
static void stencil(int round)
{
    double change = 1, most;
    MPI_Sendrecv(grid[1], WIDTH, MPI_DOUBLE, above, 0, grid[HEIGHT + 1], WIDTH, MPI_DOUBLE, below,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(grid[HEIGHT], WIDTH, MPI_DOUBLE, below, 1, grid[0], WIDTH, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    smooth(1, HEIGHT);
    work(25);
    memcpy(grid, next_grid, sizeof grid);
    if (round % 5 == 4)
        MPI_Allreduce(&change, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

/* The same, but the borders come while the inner lines are worked on. */
static void overlap(int round)
{
    MPI_Request requests[4];
    (void)round;
    MPI_Irecv(grid[0], WIDTH, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(grid[HEIGHT + 1], WIDTH, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(grid[1], WIDTH, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(grid[HEIGHT], WIDTH, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[3]);
    smooth(2, HEIGHT - 1);
    work(25);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    smooth(1, 1);
    smooth(HEIGHT, HEIGHT);
    memcpy(grid, next_grid, sizeof grid);
}

/* A block of the ring is at every rank in turn, and all work on what they have. */
static void ring(int round)
{
    (void)round;
    block[0] = (char)rank;
    for (int step = 0; step < size; step++) {
        work(25);
        MPI_Sendrecv_replace(block, LARGE / 16, MPI_BYTE, right, 0, left, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    must(block[0] == (char)rank, "the block that went round");
}

static void transpose(int round)
{
    const int own = BLOCK * BLOCK;
    for (int of = 0; of < size * own; of++)
        matrix[of] = round + rank * size + of / own;
    work(25);
    MPI_Alltoall(matrix, own, MPI_INT, transposed, own, MPI_INT, MPI_COMM_WORLD);
    for (int of = 0; of < size * own; of++)
        must(transposed[of] == round + of / own * size + rank, "the transposed matrix");
}

/* Nothing but that: it is limited by communication. */
static void only_transposes(int round)
{
    const int own = BLOCK * BLOCK;
    (void)round;
    MPI_Alltoall(matrix, own, MPI_INT, transposed, own, MPI_INT, MPI_COMM_WORLD);
}

/* Items go through stages, each of which has some for itself: all are busy once it is filled. */
static void pipeline(int round)
{
    static int made, seen;
    int item = 0;
    (void)round;
    if (rank == 0)
        item = made++;
    else
        MPI_Recv(&item, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    must(rank == 0 || item == seen++, "an item's number");
    work(25);
    if (rank < size - 1)
        MPI_Send(&item, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
}

/* Rank 0 hands out tasks of different length; each worker has the next one at hand. */
static void farm(int round)
{
    enum { TASKS = 100, AT_HAND = 2, END = -1 };
    int task = 0, done = 0, at_work = 0, none = END;
    MPI_Status status;
    (void)round;
    for (int to = 1; rank == 0 && to < size; to++)
        for (int more = 0; more < AT_HAND; more++, task++, at_work++)
            MPI_Send(&task, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    while (rank == 0 && at_work > 0) {
        MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        at_work--;
        if (task < TASKS) {
            MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
            task++;
            at_work++;
        }
    }
    for (int to = 1; rank == 0 && to < size; to++)
        MPI_Send(&none, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    while (rank != 0) {
        MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task == END)
            break;
        work(15 + task % 3 * 5);
        MPI_Send(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
}

/* Two products of long vectors for each step, as in solvers. */
static void products(int round)
{
    double mine = rank + 1, all = 0;
    (void)round;
    for (int product = 0; product < 2; product++) {
        work(25);
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        must(all == size * (size + 1) / 2, "the sum");
    }
}

/* Borders are put into the neighbours' windows. */
static void one_sided(int round)
{
    long mine = round + rank;
    MPI_Win_fence(0, window);
    MPI_Put(&mine, 1, MPI_LONG, right, 0, 1, MPI_LONG, window);
    MPI_Put(&mine, 1, MPI_LONG, left, 1, 1, MPI_LONG, window);
    work(25);
    MPI_Win_fence(0, window);
    must(mapped[0] == round + left && mapped[1] == round + right, "the neighbours' numbers");
    work(25);
}

/* Sums along the rows of a grid of ranks; along a column goes what its first rank knows. */
static void rows_and_columns(int round)
{
    int in_row, known = round, mine = 1;
    work(25);
    MPI_Allreduce(&mine, &in_row, 1, MPI_INT, MPI_SUM, row);
    must(in_row == 2, "the ranks of a row");
    work(25);
    MPI_Bcast(&known, 1, MPI_INT, 0, column);
    must(known == round, "what the first rank knows");
}

/* Steps of a random length, which come to the same between two sums. */
static void random_work(int round)
{
    static unsigned state;
    double left_ms = 80;
    int mine = 1, all;
    state += 7919u * (unsigned)(rank + 1) + (unsigned)round;
    for (int step = 0; step < 7; step++) {
        state = state * 1664525u + 1013904223u;
        const double ms = left_ms / (8 - step) * (0.5 + (state >> 16) % 1000 / 1000.0);
        work(ms);
        left_ms -= ms;
    }
    work(left_ms);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    must(all == size, "the number of ranks");
}

static void rare_barrier(int round)
{
    (void)round;
    for (int step = 0; step < 6; step++)
        work(25);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Everybody has something large for all now and then. */
static void broadcast(int round)
{
    const int root = round % size;
    if (rank == root)
        memset(block, round, sizeof block);
    for (int step = 0; step < 3; step++)
        work(25);
    MPI_Bcast(block, LARGE, MPI_BYTE, root, MPI_COMM_WORLD);
    must(block[LARGE - 1] == (char)round, "what was broadcast");
}

/* A sum is made while the ranks work. */
static void behind_work(int round)
{
    int mine = rank + round, all;
    MPI_Request request;
    MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    work(25);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    must(all == size * round + size * (size - 1) / 2, "the sum behind the work");
}

/* The same messages in every round. */
static void again(int round)
{
    (void)round;
    MPI_Startall(4, persistent);
    work(25);
    MPI_Waitall(4, persistent, MPI_STATUSES_IGNORE);
}

/* Neighbours of a ring exchange what they have. */
static void neighbours(int round)
{
    int mine[2] = {rank + round, rank + round}, theirs[2];
    work(25);
    MPI_Neighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, line);
    must(theirs[0] == left + round && theirs[1] == right + round, "what neighbours have");
}

static const struct kind kinds[] = {
    {"products", products, 2},
    {"stencil", stencil, 5},
    {"overlap", overlap, 4},
    {"ring", ring, 1},
    {"transpose", transpose, 4},
    {"only_transposes", only_transposes, 20},
    {"pipeline", pipeline, 40},
    {"farm", farm, 1},
    {"one_sided", one_sided, 2},
    {"rows_and_columns", rows_and_columns, 2},
    {"random_work", random_work, 1},
    {"rare_barrier", rare_barrier, 1},
    {"broadcast", broadcast, 2},
    {"behind_work", behind_work, 4},
    {"again", again, 4},
    {"neighbours", neighbours, 4},
};

int main(int argc, char **argv)
{
    const int is_ring = 1;
    begin_kinds(argc, argv);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &is_ring, 0, &line);
    MPI_Win_allocate(WINDOW, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mapped, &window);
    MPI_Recv_init(grid[0], WIDTH, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &persistent[0]);
    MPI_Recv_init(grid[HEIGHT + 1], WIDTH, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &persistent[1]);
    MPI_Send_init(grid[1], WIDTH, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &persistent[2]);
    MPI_Send_init(grid[HEIGHT], WIDTH, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &persistent[3]);

    run_kinds(kinds, sizeof kinds / sizeof kinds[0], NULL);

    for (int one = 0; one < 4; one++)
        MPI_Request_free(&persistent[one]);
    MPI_Win_free(&window);
    MPI_Comm_free(&line);
    MPI_Comm_free(&column);
    MPI_Comm_free(&row);
    end_kinds();
    return 0;
}

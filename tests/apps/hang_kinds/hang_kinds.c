/* Hangs in threads, non-blocking collectives, windows and files, with four ranks:
 * `hang_kinds WAY`. As `hang_kinds healthy WAY...`, one after the other, and no rank stays away for
 * longer than 1.2 seconds.
 *
 *   threads-multiple, threads-serialized
 *              a second thread of each rank has called MPI; then ranks 0 and 1 send to each other
 *   icoll      rank 2 never begins an MPI_Iallreduce that the others wait for
 *   iorder     ranks 0 and 1 begin barriers on two communicators in another order, and wait
 *   iroot      half of the ranks begin to gather at rank 0, half at rank 1
 *   fence      rank 2 never comes to an MPI_Win_fence
 *   winfree    rank 2 never comes to an MPI_Win_free
 *   lock       rank 1 has locked rank 0's part of a window, exclusively, and stays in its own code
 *   pscw       rank 0 waits in MPI_Win_wait for rank 1, which never completes its access
 *   open       rank 2 never opens a file that the others open
 *   write      rank 2 never comes to an MPI_File_write_at_all */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_healthy;

static void own_code(void)
{
    for (int i = 0; i < (is_healthy ? 120 : 360000); i++)
        usleep(10000);
}

static pthread_barrier_t called;

static void *second(void *rank)
{
    int size, flag;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&called);
    own_code();
    return rank;
}

static void threads(int rank)
{
    int value = rank, other = 1 - rank;
    pthread_t thread;
    pthread_barrier_init(&called, NULL, 2);
    pthread_create(&thread, NULL, second, NULL);
    pthread_barrier_wait(&called);
    if (rank < 2 && !is_healthy)
        MPI_Ssend(&value, 1, MPI_INT, other, 7, MPI_COMM_WORLD); /* at threads 0 1 */
    pthread_join(thread, NULL);
}

static void non_blocking(const char *way, int rank)
{
    int value = rank, sum = 0;
    MPI_Request request;
    MPI_Comm first, second;
    if (!strcmp(way, "icoll")) {
        if (rank == 2)
            own_code();
        MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* at icoll 0 1 3 */
    } else if (!strcmp(way, "iorder")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &first);
        MPI_Comm_dup(MPI_COMM_WORLD, &second);
        int is_other = rank == 0 && !is_healthy;
        if (is_healthy && rank == 2)
            own_code();
        MPI_Ibarrier(is_other ? second : first, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* at iorder 0 1 2 3 */
        MPI_Ibarrier(is_other ? first : second, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        int all[64], root = is_healthy ? 0 : rank % 2;
        MPI_Igather(&value, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* at iroot 0 1 2 3 */
    }
}

static void windows(const char *way, int rank)
{
    int part = 0, one = 1;
    MPI_Win win;
    MPI_Win_create(&part, sizeof part, sizeof part, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (!strcmp(way, "fence")) {
        MPI_Win_fence(0, win);
        if (rank == 2)
            own_code();
        MPI_Win_fence(0, win); /* at fence 0 1 3 */
    } else if (!strcmp(way, "winfree")) {
        if (rank == 2)
            own_code();
    } else if (!strcmp(way, "lock")) {
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            own_code();
            MPI_Win_unlock(0, win);
        }
        if (rank == 2) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
    } else if (rank < 2) {
        MPI_Group all, other;
        int of = 1 - rank;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &of, &other);
        if (rank == 0) {
            MPI_Win_post(other, 0, win);
            MPI_Win_wait(win); /* at pscw 0 */
        } else {
            MPI_Win_start(other, 0, win);
            MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            own_code();
            MPI_Win_complete(win);
        }
    }
    MPI_Win_free(&win); /* at winfree 0 1 3 */
}

static void files(const char *way, int rank)
{
    char name[64];
    int pid = getpid(), values[4] = {rank, rank, rank, rank};
    MPI_File file;
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/tmp/invivo-hang-kinds-%d", pid);
    if (!strcmp(way, "open") && rank == 2)
        own_code();
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE;
    MPI_Info info;
    MPI_Info_create(&info);
    /* So that all ranks exchange what they write, wherever the file is. */
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_File_open(MPI_COMM_WORLD, name, mode, info, &file); /* at open 0 1 3 */
    MPI_Info_free(&info);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    if (!strcmp(way, "write") && rank == 2)
        own_code();
    MPI_Status status;
    MPI_File_write_at_all(file, 4 * rank, values, 4, MPI_INT, &status); /* at write 0 1 3 */
    MPI_File_close(&file);
}

static void hang(const char *way, int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strncmp(way, "threads", 7))
        threads(rank);
    else if (way[0] == 'i')
        non_blocking(way, rank);
    else if (!strcmp(way, "open") || !strcmp(way, "write"))
        files(way, rank);
    else
        windows(way, rank);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, level = MPI_THREAD_SINGLE;
    const char *last = argv[argc - 1];
    if (!strcmp(last, "threads-multiple"))
        level = MPI_THREAD_MULTIPLE;
    else if (!strcmp(last, "threads-serialized"))
        level = MPI_THREAD_SERIALIZED;
    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "healthy"))
            is_healthy = 1;
        else
            hang(argv[i], rank);
    }
    MPI_Finalize();
    return 0;
}

/* One-sided communication: all three ways to synchronise, windows of all kinds but shared ones. */
#include "sections.h"

#include <stdlib.h>

static void fences(int right)
{
    int memory[8] = {0}, got[2] = {0}, value = me + 1;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, "of fences");
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Accumulate(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(got, 2, MPI_INT, right, 0, 2, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    say("fence: %d %d, got %d %d", memory[0], memory[1], got[0], got[1]);
    MPI_Win_free(&win);
}

static void posts(int left, int right)
{
    int *memory, value = 10 * me, flag = 0;
    MPI_Win win;
    MPI_Group world, origin, target;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &origin);
    MPI_Group_incl(world, 1, &right, &target);
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[0] = memory[1] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_post(origin, 0, win);
    MPI_Win_start(target, 0, win);
    MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    say("post, start, complete, wait: %d", memory[0]);
    MPI_Win_post(origin, 0, win);
    MPI_Win_start(target, 0, win);
    MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win);
    MPI_Win_complete(win);
    while (!flag)
        MPI_Win_test(win, &flag);
    say("tested: %d", memory[1]);
    MPI_Group_free(&world);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Win_free(&win);
}

static void locks(int right)
{
    int *memory, value = 100 + me, got = -1, one = 1, compare = 0, result = -1, all_of = -1;
    MPI_Win win;
    MPI_Request request;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 4; i++)
        memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_flush(right, win);
    MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_unlock(right, win);
    say("locked: %d", got);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &result, MPI_INT, 0, 1, MPI_SUM, win);
    MPI_Win_flush_local(0, win);
    MPI_Compare_and_swap(&value, &compare, &all_of, MPI_INT, right, 2, win);
    MPI_Win_flush_all(win);
    MPI_Rput(&one, 1, MPI_INT, right, 3, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush_local_all(win);
    MPI_Rget(&got, 1, MPI_INT, right, 2, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_sync(win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, &all_of, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_NO_OP, win);
    MPI_Win_unlock(0, win);
    say("everybody once: %d, swapped in: %d, put: %d", all_of, got, memory[3]);
    MPI_Win_free(&win);
}

static void dynamic(int right)
{
    int memory[4] = {me, me + 1, me + 2, me + 3}, got[2] = {-1, -1};
    MPI_Aint mine, theirs;
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Get_address(&memory[1], &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, (me + all - 1) % all, 1, &theirs, 1, MPI_AINT, right, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Get(got, 2, MPI_INT, right, theirs, 2, MPI_INT, win);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    say("dynamic: %d %d", got[0], got[1]);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
}

void one_sided(void)
{
    int right = (me + 1) % all, left = (me + all - 1) % all;
    fences(right);
    posts(left, right);
    locks(right);
    dynamic(right);
    int *memory;
    MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
    memory[0] = me;
    MPI_Free_mem(memory);
}

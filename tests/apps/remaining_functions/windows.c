/* One-sided communication: windows of all kinds, all operations, all ways to synchronise. */
#include "sections.h"

enum { ROOM = 16 };

static void operations(MPI_Win win, int *memory)
{
    int out[4] = {me, me + 1, me + 2, me + 3}, got[8] = {0}, old[8] = {0}, one = 1, compared = 0,
        result = -1;
    MPI_Request requests[4];
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    F(MPI_Put)(out, 4, MPI_INT, right, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    F(MPI_Accumulate)(out, 2, MPI_INT, right, 4, 2, MPI_INT, MPI_SUM, win);
    F(MPI_Get)(got, 4, MPI_INT, left, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    F(MPI_Get_accumulate)(out, 2, MPI_INT, old, 2, MPI_INT, right, 6, 2, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    fold_ints(memory, 8);
    fold_ints(got, 8);
    fold_ints(old, 8);

    MPI_Barrier(everybody);
    MPI_Win_lock_all(0, win);
    F(MPI_Rput)(out, 1, MPI_INT, right, 8, 1, MPI_INT, win, &requests[0]);
    F(MPI_Raccumulate)(out, 1, MPI_INT, right, 9, 1, MPI_INT, MPI_REPLACE, win, &requests[1]);
    F(MPI_Rget)(got, 2, MPI_INT, left, 0, 2, MPI_INT, win, &requests[2]);
    F(MPI_Rget_accumulate)(out, 1, MPI_INT, old, 1, MPI_INT, right, 10, 1, MPI_INT, MPI_SUM, win,
                           &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Fetch_and_op(&one, &result, MPI_INT, right, 11, MPI_SUM, win);
    MPI_Win_flush(right, win);
    fold(result);
    MPI_Compare_and_swap(&me, &compared, &result, MPI_INT, right, 12, win);
    MPI_Win_flush_local(right, win);
    MPI_Win_flush_all(win);
    MPI_Win_flush_local_all(win);
    MPI_Win_sync(win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(everybody);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    fold_ints(memory, ROOM);
    MPI_Win_unlock(me, win);
    fold_ints(got, 8);
    fold_ints(old, 8);
    MPI_Barrier(everybody);
}

static void posts(MPI_Win win, int *memory)
{
    MPI_Group world, before, behind;
    int value = 1000 + me, flag = 0;
    MPI_Comm_group(everybody, &world);
    MPI_Group_incl(world, 1, &left, &before);
    MPI_Group_incl(world, 1, &right, &behind);
    for (int round = 0; round < 2; round++) {
        MPI_Win_post(before, 0, win);
        MPI_Win_start(behind, 0, win);
        F(MPI_Put)(&value, 1, MPI_INT, right, round, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (round == 0)
            MPI_Win_wait(win);
        else
            for (; !flag; breathe())
                MPI_Win_test(win, &flag);
        fold(memory[round]);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&before);
    MPI_Group_free(&behind);
}

static int copied(MPI_Win win, int key, void *extra, void *value, void *out, int *flag)
{
    (void)win;
    (void)key;
    (void)extra;
    *(void **)out = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Win win, int key, void *value, void *extra)
{
    (void)win;
    (void)key;
    (void)extra;
    fold(*(int *)value);
    return MPI_SUCCESS;
}

static void told(MPI_Win *win, int *code, ...)
{
    (void)win;
    fold_code(*code);
}

static void around(MPI_Win win)
{
    int key, length = 0, size = -1, flag = -1;
    static int value = 77;
    void *found = NULL;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Info info;
    MPI_Group group;
    MPI_Errhandler own, now;
    MPI_Win_set_name(win, "a window");
    MPI_Win_get_name(win, name, &length);
    fold_text(name);
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &size);
    fold(size);
    MPI_Group_free(&group);
    MPI_Win_get_info(win, &info);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_create_keyval(copied, deleted, &key, NULL);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_get_attr(win, key, &found, &flag);
    fold(flag && found == &value);
    MPI_Win_delete_attr(win, key);
    MPI_Win_free_keyval(&key);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &found, &flag);
    fold(flag ? (long)*(MPI_Aint *)found : -1);
    MPI_Win_create_errhandler(told, &own);
    MPI_Win_set_errhandler(win, own);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    MPI_Win_get_errhandler(win, &now);
    fold(now == own);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&own);
}

SECTION(windows)
{
    static int mine[ROOM];
    int *memory = NULL;
    MPI_Win win;
    for (int i = 0; i < ROOM; i++)
        mine[i] = 0;
    F(MPI_Win_create)(mine, sizeof mine, sizeof(int), MPI_INFO_NULL, everybody, &win);
    around(win);
    operations(win, mine);
    MPI_Win_free(&win);

    F(MPI_Win_allocate)(ROOM * sizeof(int), sizeof(int), MPI_INFO_NULL, everybody, &memory, &win);
    for (int i = 0; i < ROOM; i++)
        memory[i] = 0;
    MPI_Barrier(everybody);
    posts(win, memory);
    MPI_Win_free(&win);

    MPI_Comm node;
    MPI_Comm_split_type(everybody, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    F(MPI_Win_allocate_shared)(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &memory, &win);
    MPI_Aint size = -1;
#ifdef LARGE
    MPI_Aint unit = -1;
#else
    int unit = -1;
#endif
    int *theirs = NULL;
    MPI_Win_fence(0, win);
    *memory = 50 + me;
    MPI_Win_fence(0, win);
    F(MPI_Win_shared_query)(win, right, &size, &unit, &theirs);
    fold(size);
    fold(unit);
    fold(*theirs);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);

    MPI_Aint address, away;
    int got = -1;
    MPI_Win_create_dynamic(MPI_INFO_NULL, everybody, &win);
    MPI_Win_attach(win, mine, sizeof mine);
    MPI_Get_address(&mine[3], &address);
    MPI_Sendrecv(&address, 1, MPI_AINT, left, 1, &away, 1, MPI_AINT, right, 1, everybody,
                 MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    F(MPI_Get)(&got, 1, MPI_INT, right, away, 1, MPI_INT, win);
    MPI_Win_unlock(right, win);
    fold(got);
    MPI_Barrier(everybody);
    MPI_Win_detach(win, mine);
    MPI_Win_free(&win);
}

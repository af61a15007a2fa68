/* Predefined attributes, and attributes whose callbacks call MPI. */
#include "sections.h"

#include <stdlib.h>

static void predefined(const char *of, MPI_Comm comm)
{
    static const struct {
        const char *name;
        int keyval;
    } keys[] = {
        {"TAG_UB", MPI_TAG_UB},
        {"HOST", MPI_HOST},
        {"IO", MPI_IO},
        {"WTIME_IS_GLOBAL", MPI_WTIME_IS_GLOBAL},
        {"UNIVERSE_SIZE", MPI_UNIVERSE_SIZE},
        {"LASTUSEDCODE", MPI_LASTUSEDCODE},
        {"APPNUM", MPI_APPNUM},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int flag = -1, *value = NULL;
        MPI_Comm_get_attr(comm, keys[i].keyval, &value, &flag);
        say("%s of %s: flag %d, value %d", keys[i].name, of, flag, flag > 0 && value ? *value : -1);
    }
}

/* The callbacks ask, talk to themselves, and compare what they are given with what they know. */
static int talk(MPI_Comm comm)
{
    int size = -1, result = -1, sum = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    say("  a callback on %s, of %d, %s to the world", which(comm), sum, comparison(result));
    return sum;
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval;
    talk(comm);
    *(int *)extra += 1;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval;
    talk(comm);
    say("  deleted with value %ld after %d copies", (long)(size_t)value, *(int *)extra);
    return MPI_SUCCESS;
}

static long get(MPI_Comm comm, int keyval)
{
    void *value = NULL;
    int flag = 0;
    MPI_Comm_get_attr(comm, keyval, &value, &flag);
    return flag ? (long)(size_t)value : -1;
}

static void of_communicators(void)
{
    static int copies;
    int keyval, whole, none;
    MPI_Comm dup, again;
    MPI_Comm_create_keyval(copy, delete, &keyval, &copies);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &whole, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, (void *)10);
    MPI_Comm_set_attr(MPI_COMM_WORLD, whole, (void *)20);
    MPI_Comm_set_attr(MPI_COMM_WORLD, none, (void *)30);
    say("world %ld %ld %ld", get(MPI_COMM_WORLD, keyval), get(MPI_COMM_WORLD, whole),
        get(MPI_COMM_WORLD, none));
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    say("dup %ld %ld %ld", get(dup, keyval), get(dup, whole), get(dup, none));
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, (void *)40);
    MPI_Comm_dup(dup, &again);
    say("dup of the dup %ld, world %ld", get(again, keyval), get(MPI_COMM_WORLD, keyval));
    MPI_Comm_free(&again);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, whole);
    say("world %ld, dup %ld", get(MPI_COMM_WORLD, whole), get(dup, whole));
    int copy_of_keyval = keyval;
    MPI_Comm_free_keyval(&keyval);
    say("keyval freed: %d", keyval == MPI_KEYVAL_INVALID);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, copy_of_keyval);
    MPI_Comm_free(&dup);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, none);
    MPI_Comm_free_keyval(&whole);
    MPI_Comm_free_keyval(&none);
}

/* The names of MPI 1, which programs still use. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void by_old_names(void)
{
    static int copies;
    int keyval, flag = 0;
    void *value = NULL;
    MPI_Keyval_create(copy, delete, &keyval, &copies);
    MPI_Attr_put(MPI_COMM_WORLD, keyval, (void *)50);
    MPI_Attr_get(MPI_COMM_WORLD, keyval, &value, &flag);
    say("by its old name %d %ld, by its new one %ld", flag, (long)(size_t)value,
        get(MPI_COMM_WORLD, keyval));
    MPI_Attr_delete(MPI_COMM_WORLD, keyval);
    MPI_Keyval_free(&keyval);
    int *bound = NULL;
    MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    say("TAG_UB by its old name: %d %d", flag, flag ? *bound : -1);
}
#pragma GCC diagnostic pop

static int copy_of_type(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval, (void)extra;
    int size = -1;
    MPI_Type_size(type, &size);
    say("  a type of %d is copied", size);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_of_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    int size = -1;
    MPI_Type_size(type, &size);
    say("  a type of %d loses %ld", size, (long)(size_t)value);
    return MPI_SUCCESS;
}

static int delete_of_window(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    MPI_Group group;
    int size = -1;
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &size);
    MPI_Group_free(&group);
    say("  a window of %d loses %ld", size, (long)(size_t)value);
    return MPI_SUCCESS;
}

static void of_types_and_windows(void)
{
    int keyval, flag = 0;
    MPI_Datatype pair, twin;
    void *value = NULL;
    MPI_Type_create_keyval(copy_of_type, delete_of_type, &keyval, NULL);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_set_attr(pair, keyval, (void *)60);
    MPI_Type_dup(pair, &twin);
    MPI_Type_get_attr(twin, keyval, &value, &flag);
    say("the twin has %d %ld", flag, (long)(size_t)value);
    MPI_Type_delete_attr(pair, keyval);
    MPI_Type_free(&pair);
    MPI_Type_free(&twin);
    MPI_Type_free_keyval(&keyval);

    MPI_Win win;
    int memory[4] = {0};
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_of_window, &keyval, NULL);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_attr(win, keyval, (void *)70);
    static const int predefined_of_windows[] = {MPI_WIN_SIZE, MPI_WIN_DISP_UNIT,
                                                MPI_WIN_CREATE_FLAVOR, MPI_WIN_MODEL};
    for (int i = 0; i < 4; i++) {
        MPI_Win_get_attr(win, predefined_of_windows[i], &value, &flag);
        say("window attribute %d: %d, %ld", i, flag,
            i == 0 ? (long)*(MPI_Aint *)value : (long)*(int *)value);
    }
    MPI_Win_free(&win);
    MPI_Win_free_keyval(&keyval);
}

static int refuse(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static void refused(void)
{
    int keyval, value = 1;
    MPI_Comm dup = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    say_code("set TAG_UB", MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value));
    say_code("delete UNIVERSE_SIZE", MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE));
    MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    say_code("a callback that refuses", MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void attributes(void)
{
    MPI_Comm dup;
    predefined("the world", MPI_COMM_WORLD);
    predefined("self", MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    predefined("a dup", dup);
    MPI_Comm_free(&dup);
    of_communicators();
    by_old_names();
    of_types_and_windows();
    refused();
}

/* What MPI says of the job and itself: MPI_INFO_ENV, versions, the processor's name, info objects.
 */
#include "sections.h"

#include <stdio.h>
#include <string.h>

void info_env(void)
{
    int keys = -1, version = -1, subversion = -1, length = -1, flag = -1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Info_get_nkeys(MPI_INFO_ENV, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1] = "", value[1024] = "";
        MPI_Info_get_nthkey(MPI_INFO_ENV, i, key);
        MPI_Info_get(MPI_INFO_ENV, key, sizeof value - 1, value, &flag);
        /* Directories differ from run to run. */
        say("  %s = %s", key,
            value[0] == '/' && strcmp(key, "command") != 0 ? "a directory" : value);
    }
    MPI_Get_version(&version, &subversion);
    MPI_Get_library_version(text, &length);
    say("version %d.%d, %.12s", version, subversion, text);
    MPI_Get_processor_name(text, &length);
    say("on %s", text);
    say("clocks: %d %d", MPI_Wtick() > 0, MPI_Wtime() > 0);

    MPI_Info info, twin;
    char value[32] = "";
    MPI_Info_create(&info);
    MPI_Info_set(info, "a key", "a value");
    MPI_Info_set(info, "another", "one more");
    MPI_Info_delete(info, "another");
    MPI_Info_dup(info, &twin);
    MPI_Info_get(twin, "a key", 31, value, &flag);
    MPI_Info_get_nkeys(twin, &keys);
    say("%d key, %d %s", keys, flag, value);
    MPI_Info_free(&twin);
    MPI_Info_free(&info);
    int main_thread = -1, level = -1, initialized = -1, finalized = -1;
    MPI_Is_thread_main(&main_thread);
    MPI_Query_thread(&level);
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    say("main thread %d, level %d, initialized %d, finalized %d", main_thread, level, initialized,
        finalized);
    MPI_Pcontrol(0, "nothing");
    MPI_Pcontrol(1);
    MPI_Pcontrol(2, 1.5, "for others");
}

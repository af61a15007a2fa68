/* What libotf2's writer takes for a begin and an end: a time stamp and one event at each, written
 * to the memory of an archive. The region's number is known, which an event tracer would have to
 * look up. The archive is probe-otf2/trace in the folder in which the program runs; a process that
 * has no regions makes none. Linked with -lopen-trace-format2. */
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

/* Events of a run take a third of it: nothing is flushed while time is taken. */
enum { CHUNK = 4 << 20, CHUNKS = 8 };
enum { FUNCTION, MARKED, REGIONS };
static char pool[CHUNK * CHUNKS];
static size_t taken;
static OTF2_Archive *archive;
static OTF2_EvtWriter *events;

static OTF2_FlushType flush(void *user, OTF2_FileType type, OTF2_LocationRef location,
                            void *caller, bool final) {
    (void)user, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static void *allocate(void *user, OTF2_FileType type, OTF2_LocationRef location, void **own,
                      uint64_t bytes) {
    (void)user, (void)type, (void)location, (void)own;
    void *chunk = pool + taken;
    if (taken + bytes > sizeof pool) return NULL;
    taken += bytes;
    return chunk;
}

static void free_all(void *user, OTF2_FileType type, OTF2_LocationRef location, void **own,
                     bool final) {
    (void)user, (void)type, (void)location, (void)own, (void)final;
}

static void expect(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "libotf2: %s failed\n", what);
    abort();
}

/* Pages that are there already cost no event its time. */
__attribute__((constructor)) static void touch(void) { memset(pool, 0x7f, sizeof pool); }

static void open_archive(void) {
    static const OTF2_FlushCallbacks flushing = { .otf2_pre_flush = flush };
    static const OTF2_MemoryCallbacks memory = { allocate, free_all };
    archive = OTF2_Archive_Open("probe-otf2", "trace", OTF2_FILEMODE_WRITE, CHUNK, CHUNK,
                                OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    expect(archive != NULL, "opening");
    OTF2_Archive_SetFlushCallbacks(archive, &flushing, NULL);
    OTF2_Archive_SetMemoryCallbacks(archive, &memory, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    events = OTF2_Archive_GetEvtWriter(archive, 0);
    expect(events != NULL, "a writer");
}

__attribute__((destructor)) static void close_archive(void) {
    static const char *const strings[] = { "", "function", "marked", "all" };
    uint64_t count;
    if (!archive) return;
    OTF2_EvtWriter_GetNumberOfEvents(events, &count);
    expect(!OTF2_Archive_CloseEvtWriter(archive, events), "writing");
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_OpenDefFiles(archive);
    OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive, 0);
    OTF2_Archive_CloseDefWriter(archive, local);
    OTF2_Archive_CloseDefFiles(archive);
    /* What a reader needs. */
    OTF2_GlobalDefWriter *all = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(all, 1000000000, 0, UINT64_MAX,
                                              OTF2_UNDEFINED_TIMESTAMP);
    for (int i = 0; i < 4; i++) OTF2_GlobalDefWriter_WriteString(all, i, strings[i]);
    for (int i = 0; i < REGIONS; i++)
        OTF2_GlobalDefWriter_WriteRegion(all, i, i + 1, i + 1, 0, OTF2_REGION_ROLE_FUNCTION,
                                         OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(all, 0, 3, 3, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteLocationGroup(all, 0, 3, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(all, 0, 3, OTF2_LOCATION_TYPE_CPU_THREAD, count, 0);
    OTF2_Archive_CloseGlobalDefWriter(archive, all);
    expect(!OTF2_Archive_Close(archive), "closing");
}

#define BEGIN(region)                                                                             \
    do {                                                                                          \
        if (__builtin_expect(!events, 0)) open_archive();                                         \
        OTF2_EvtWriter_Enter(events, NULL, __rdtsc(), region);                                    \
    } while (0)
#define END(region) OTF2_EvtWriter_Leave(events, NULL, __rdtsc(), region)

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)function, (void)caller;
    BEGIN(FUNCTION);
}
void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function, (void)caller;
    END(FUNCTION);
}
void invivo_region_begin(const char *name) {
    (void)name;
    BEGIN(MARKED);
}
void invivo_region_end(const char *name) {
    (void)name;
    END(MARKED);
}

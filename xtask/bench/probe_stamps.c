/* The least that a measuring probe can do: a time stamp at each begin and end, kept. The baseline for what recording costs. */
#include <x86intrin.h>

#define KEPT 4096
static unsigned long long kept[KEPT];
static unsigned next;

#define STAMP kept[next++ % KEPT] = __rdtsc()

void __cyg_profile_func_enter(void *function, void *caller) { (void)function, (void)caller, STAMP; }
void __cyg_profile_func_exit(void *function, void *caller) { (void)function, (void)caller, STAMP; }
void invivo_region_begin(const char *name) { (void)name, STAMP; }
void invivo_region_end(const char *name) { (void)name, STAMP; }

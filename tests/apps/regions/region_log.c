/* A rank's own log of its regions: see region_log.h. */
#include "region_log.h"

#include "flag_file.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REGIONS_MAX = 16, DEPTH_MAX = 16 };

static struct {
    const char *name;
    long long visits, inclusive_ns, own_ns, mpi_ns, own_mpi_ns;
} regions[REGIONS_MAX];
static int region_count;

static struct {
    int region;
    long long begun_ns, below_ns, mpi_ns, own_mpi_ns;
} open_regions[DEPTH_MAX];
static int depth;

static long long mpi_begun_ns;

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int region_of(const char *name)
{
    for (int i = 0; i < region_count; i++)
        if (strcmp(regions[i].name, name) == 0)
            return i;
    if (region_count == REGIONS_MAX)
        exit(70);
    regions[region_count].name = name;
    return region_count++;
}

void region_log_begin(const char *name)
{
    if (depth == DEPTH_MAX)
        exit(70);
    memset(&open_regions[depth], 0, sizeof open_regions[depth]);
    open_regions[depth].region = region_of(name);
    open_regions[depth].begun_ns = now_ns();
    depth++;
}

void region_log_end(void)
{
    long long ended_ns = now_ns();
    if (depth == 0)
        exit(70);
    depth--;
    long long inclusive_ns = ended_ns - open_regions[depth].begun_ns;
    int region = open_regions[depth].region;
    regions[region].visits++;
    regions[region].inclusive_ns += inclusive_ns;
    regions[region].own_ns += inclusive_ns - open_regions[depth].below_ns;
    regions[region].mpi_ns += open_regions[depth].mpi_ns;
    regions[region].own_mpi_ns += open_regions[depth].own_mpi_ns;
    if (depth > 0) {
        open_regions[depth - 1].below_ns += inclusive_ns;
        open_regions[depth - 1].mpi_ns += open_regions[depth].mpi_ns;
    }
}

void region_log_mpi_begin(void)
{
    mpi_begun_ns = now_ns();
}

void region_log_mpi_end(void)
{
    long long ns = now_ns() - mpi_begun_ns;
    if (depth > 0) {
        open_regions[depth - 1].mpi_ns += ns;
        open_regions[depth - 1].own_mpi_ns += ns;
    }
}

void region_log_compute(long long ns)
{
    long long until_ns = now_ns() + ns;
    while (now_ns() < until_ns)
        ;
}

static FILE *file_of(const char *what, int rank)
{
    char path[4096];
    const char *directory = getenv("LOG_DIR");
    snprintf(path, sizeof path, "%s/%d.%s", directory ? directory : ".", rank, what);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(70);
    }
    return file;
}

FILE *region_log_file(int rank)
{
    return file_of("regions", rank);
}

void region_log_write(int rank)
{
    FILE *file = region_log_file(rank);
    for (int i = 0; i < region_count; i++)
        fprintf(file, "%s %lld %lld %lld %lld %lld\n", regions[i].name, regions[i].visits,
                regions[i].inclusive_ns, regions[i].own_ns, regions[i].mpi_ns,
                regions[i].own_mpi_ns);
    if (fclose(file))
        exit(70);
}

void region_log_wait(int rank)
{
    if (!getenv("LOG_DIR"))
        return;
    fclose(file_of("done", rank));
    while (!flag_is_set("stop"))
        usleep(1000);
}

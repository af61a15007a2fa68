/* A rank that writes into the memory which it shares with its supervisor, and puts files of another
 * kind in the place of those that it has mapped.
 *
 * Rank 1 reads LOG_DIR/pokes.K, for K = 0, 1, ...: lines of an offset into that memory, a number of
 * bytes (up to 8) and a value. It writes them, leaves LOG_DIR/1.poked.K, waits in MPI_Recv in the
 * function `endless`, and puts back what was there before once rank 0 has sent. Rank 0 computes
 * without MPI until LOG_DIR/unpoke.K appears, and both end where LOG_DIR/stop does. A line
 * `flood` sends messages to the supervisor instead, `hole OFFSET BYTES` and `punch OFFSET BYTES`
 * punch a hole, by the mapping and by the supervisor's own descriptor, `cut` tries to make the
 * memory shorter and longer, `hoard` takes memory until the process is killed for that, and `loop`
 * waits in a function whose call frame information never ends. */
#define _GNU_SOURCE
#include "counting.h"
#include "flag_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

enum { POKES_MAX = 64, STOP = -1, FLOOD = 200000 };

static struct poke {
    char *at;
    size_t bytes;
    uint64_t before;
} pokes[POKES_MAX];
static int poked;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Where the shared memory is mapped. */
static char *shared(void)
{
    char line[512];
    unsigned long start = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:invivo") && sscanf(line, "%lx-", &start) == 1)
            break;
    if (maps)
        fclose(maps);
    return (char *)start;
}

static void poke(size_t offset, size_t bytes, uint64_t value)
{
    char *base = shared();
    if (!base || poked == POKES_MAX || bytes > sizeof value)
        exit(70);
    struct poke *new = &pokes[poked++];
    *new = (struct poke){.at = base + offset, .bytes = bytes};
    memcpy(&new->before, new->at, bytes);
    memcpy(new->at, &value, bytes);
}

static void put_back(void)
{
    while (poked > 0) {
        poked--;
        memcpy(pokes[poked].at, &pokes[poked].before, pokes[poked].bytes);
    }
}

/* Messages to the supervisor, which nobody has asked for, at the socket that the shim keeps. */
static void flood(void)
{
    char text[100];
    memset(text, 'x', sizeof text);
    for (int fd = 3; fd < 256; fd++) {
        int kind = 0;
        socklen_t length = sizeof kind;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &length) || kind != SOCK_SEQPACKET)
            continue;
        for (int i = 0; i < FLOOD; i++)
            send(fd, text, sizeof text, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* Takes pages out of the memory; reads of them find zeroes. */
static void hole(long offset, long bytes)
{
    char *base = shared();
    if (base && madvise(base + offset, bytes, MADV_REMOVE))
        perror("madvise");
}

/* The memory as its supervisor has it open, who is this process' parent and the same user. */
static int shared_file(void)
{
    char folder[64], path[512], to[512];
    int file = -1;
    snprintf(folder, sizeof folder, "/proc/%d/fd", getppid());
    DIR *open_files = opendir(folder);
    struct dirent *entry;
    while (open_files && file < 0 && (entry = readdir(open_files))) {
        snprintf(path, sizeof path, "%s/%.255s", folder, entry->d_name);
        ssize_t length = readlink(path, to, sizeof to - 1);
        to[length > 0 ? length : 0] = 0;
        if (strstr(to, "memfd:invivo"))
            file = open(path, O_RDWR);
    }
    if (open_files)
        closedir(open_files);
    if (file < 0) {
        perror("the shared memory");
        exit(70);
    }
    return file;
}

static void punch(long offset, long bytes)
{
    int file = shared_file();
    if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes)) {
        perror("fallocate");
        exit(70);
    }
    close(file);
}

/* Whoever touches what is behind the end of a memory is killed: nobody may move the end. */
static void cut(void)
{
    int file = shared_file();
    struct stat about;
    if (fstat(file, &about))
        exit(70);
    off_t lengths[] = {0, 4096, about.st_size / 2, 2 * about.st_size};
    for (int i = 0; i < 4; i++)
        if (!ftruncate(file, lengths[i]) || errno != EPERM)
            exit(71);
    close(file);
}

/* A limit of memory is to be in force. */
static void hoard(void)
{
    enum { PIECE = 1 << 20 };
    static char *volatile newest;
    for (;;) {
        newest = malloc(PIECE);
        if (newest)
            memset(newest, 1, PIECE);
    }
}

static int receive(void)
{
    int told = STOP;
    CALL(MPI_Recv)(&told, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    counting_received(0, sizeof told);
    return told;
}

/* The frame of its caller is found by an expression that jumps to its own beginning:
 * DW_CFA_def_cfa_expression, three bytes, DW_OP_skip by -3. */
__attribute__((noinline)) static int endless(void)
{
    __asm__ volatile(".cfi_remember_state\n.cfi_escape 0x0f, 0x03, 0x2f, 0xfd, 0xff");
    int told = receive();
    __asm__ volatile(".cfi_restore_state");
    return told;
}

int main(int argc, char **argv)
{
    char line[256], path[4096], name[64];
    int rank, told = 0;
    CALL(MPI_Init)(&argc, &argv);
    CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
    for (int round = 0; told != STOP; round++) {
        if (rank == 0) {
            snprintf(name, sizeof name, "unpoke.%d", round);
            while (!flag_is_set(name) && !flag_is_set("stop"))
                nap();
            told = flag_is_set("stop") ? STOP : round;
            CALL(MPI_Send)(&told, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            counting_sent(1, sizeof told);
            continue;
        }
        int loops = 0;
        snprintf(name, sizeof name, "pokes.%d", round);
        while (!flag_is_set(name) && !flag_is_set("stop"))
            nap();
        snprintf(path, sizeof path, "%s/%s", getenv("LOG_DIR"), name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            unsigned long offset, bytes, value;
            if (!strncmp(line, "flood", 5))
                flood();
            else if (!strncmp(line, "loop", 4))
                loops = 1;
            else if (!strncmp(line, "cut", 3))
                cut();
            else if (!strncmp(line, "hoard", 5))
                hoard();
            else if (sscanf(line, "punch %lu %lu", &offset, &bytes) == 2)
                punch((long)offset, (long)bytes);
            else if (sscanf(line, "hole %lu %lu", &offset, &bytes) == 2)
                hole((long)offset, (long)bytes);
            else if (sscanf(line, "%lu %lu %lu", &offset, &bytes, &value) == 3)
                poke(offset, bytes, value);
        }
        if (file)
            fclose(file);
        snprintf(path, sizeof path, "%s/1.poked.%d", getenv("LOG_DIR"), round);
        close(open(path, O_CREAT | O_WRONLY, 0600));
        told = loops ? endless() : receive();
        put_back();
    }
    printf("rank %d: done\n", rank);
    CALL(MPI_Finalize)();
    counting_write(rank);
    return 0;
}

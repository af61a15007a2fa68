/* Marks regions of a program for Invivo, and tells it numbers, in C and C++. Copy this file: there
 * is nothing to link.
 *
 *   invivo_begin("solve");              begins a region in the calling thread
 *   invivo_end("solve");                ends the innermost open region of this name; NULL: any name
 *   invivo::Region region("solve");     C++: from here to the end of the scope, however it is left
 *
 *   invivo_count("steps", 1);           adds to a counter: what there has been of something
 *   invivo_set("cells", cells);         sets a value: what there is of something
 *
 * In a job that Invivo does not observe, each is a load and a branch. Regions nest, and begin and
 * end in the same thread, between MPI_Init and MPI_Finalize. Of a name 128 bytes are looked at.
 *
 * Counters and values are numbers of 64 bits without a sign, of the rank: from MPI_Init on, in any
 * thread. Of a name 32 bytes are looked at, and there is room for 16 names; more are left out.
 *
 * Invivo's library is there before the program or never: one look for its functions is enough. It
 * is by dlsym: a weak symbol would be nothing in programs that are not position-independent. */
#ifndef INVIVO_REGIONS_H
#define INVIVO_REGIONS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* In a program whose functions are instrumented by the compiler these must not be seen themselves:
 * the end of one would come between a region's begin and its end. */
#define INVIVO_UNSEEN __attribute__((no_instrument_function, unused))

typedef void (*invivo_region_function)(const char *name);
typedef void (*invivo_number_function)(const char *name, uint64_t number);

INVIVO_UNSEEN static void invivo_first_begin(const char *name);
INVIVO_UNSEEN static void invivo_first_end(const char *name);
INVIVO_UNSEEN static void invivo_first_count(const char *name, uint64_t n);
INVIVO_UNSEEN static void invivo_first_set(const char *name, uint64_t value);

/* At first what looks for the library's functions, then these, or nothing. Threads that look at the
 * same time find the same. */
__attribute__((unused)) static invivo_region_function invivo_now_begin = invivo_first_begin;
__attribute__((unused)) static invivo_region_function invivo_now_end = invivo_first_end;
__attribute__((unused)) static invivo_number_function invivo_now_count = invivo_first_count;
__attribute__((unused)) static invivo_number_function invivo_now_set = invivo_first_set;

INVIVO_UNSEEN static __inline__ void invivo_call(invivo_region_function *now, const char *name)
{
    invivo_region_function function = __atomic_load_n(now, __ATOMIC_RELAXED);
    if (function)
        function(name);
}

INVIVO_UNSEEN static void invivo_first(invivo_region_function *now, const char *symbol,
                                       const char *name)
{
    union {
        void *object;
        invivo_region_function function;
    } found;
    /* The first argument is RTLD_DEFAULT, which glibc's header names under _GNU_SOURCE only. */
    found.object = dlsym((void *)0, symbol);
    __atomic_store_n(now, found.function, __ATOMIC_RELAXED);
    invivo_call(now, name);
}

static void invivo_first_begin(const char *name)
{
    invivo_first(&invivo_now_begin, "invivo_region_begin", name);
}

static void invivo_first_end(const char *name)
{
    invivo_first(&invivo_now_end, "invivo_region_end", name);
}

INVIVO_UNSEEN static __inline__ void invivo_begin(const char *name)
{
    invivo_call(&invivo_now_begin, name);
}

INVIVO_UNSEEN static __inline__ void invivo_end(const char *name)
{
    invivo_call(&invivo_now_end, name);
}

/* The same for what takes a number. */
INVIVO_UNSEEN static __inline__ void invivo_tell(invivo_number_function *now, const char *name,
                                                 uint64_t number)
{
    invivo_number_function function = __atomic_load_n(now, __ATOMIC_RELAXED);
    if (function)
        function(name, number);
}

INVIVO_UNSEEN static void invivo_first_tell(invivo_number_function *now, const char *symbol,
                                            const char *name, uint64_t number)
{
    union {
        void *object;
        invivo_number_function function;
    } found;
    found.object = dlsym((void *)0, symbol);
    __atomic_store_n(now, found.function, __ATOMIC_RELAXED);
    invivo_tell(now, name, number);
}

static void invivo_first_count(const char *name, uint64_t n)
{
    invivo_first_tell(&invivo_now_count, "invivo_counter_add", name, n);
}

static void invivo_first_set(const char *name, uint64_t value)
{
    invivo_first_tell(&invivo_now_set, "invivo_value_set", name, value);
}

INVIVO_UNSEEN static __inline__ void invivo_count(const char *name, uint64_t n)
{
    invivo_tell(&invivo_now_count, name, n);
}

INVIVO_UNSEEN static __inline__ void invivo_set(const char *name, uint64_t value)
{
    invivo_tell(&invivo_now_set, name, value);
}

#ifdef __cplusplus
namespace invivo {

/* A region from here to the end of the scope. The name is not copied: it has to live as long. */
class Region {
public:
    __attribute__((no_instrument_function)) explicit Region(const char *name) : name_(name)
    {
        invivo_begin(name_);
    }

    __attribute__((no_instrument_function)) ~Region()
    {
        invivo_end(name_);
    }

private:
    /* Not copied; declared and not defined, so that C++98 takes it. */
    Region(const Region &);
    Region &operator=(const Region &);

    const char *name_;
};

} /* namespace invivo */
#endif

#endif

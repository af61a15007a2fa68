/* Callbacks of the program leave MPI by a jump: `longjmp` where this is compiled as C, an exception
 * where it is compiled as C++. All calls are counted, those that are left, too.
 *
 *   left_calls jumps          leaves calls from shallow and deep frames, by handlers of each kind
 *   left_calls rounds         leaves a call, and goes on for four seconds in frames below that call's
 *   left_calls last           leaves a call right before MPI_Finalize
 *   left_calls inner          callbacks call MPI and come back, also from other stacks: none is left */
#include "counting.h"

#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __cplusplus
struct Left {
};
#define TRY try
#define CATCH catch (const Left &)
#define LEAVE() throw Left()
#else
static jmp_buf back;
#define TRY if (setjmp(back) == 0)
#define CATCH else
#define LEAVE() longjmp(back, 1)
#endif

enum { STACK_BYTES = 64 * 1024, ROUNDS = 200, ROUND_US = 20000 };

static int me, all, left, is_leaving = 1, inner;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    LEAVE();
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    if (is_leaving)
        LEAVE();
    return MPI_SUCCESS;
}

static void operation(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)length;
    (void)type;
    LEAVE();
}

/* Calls MPI in a frame far below that of its caller, all of whose bytes it has written. */
__attribute__((noinline)) static void deep(int times)
{
    char room[8192];
    memset(room, me, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    for (int i = 0; i < times; i++)
        CALL(MPI_Barrier)(MPI_COMM_WORLD);
}

/* There is no such rank. */
__attribute__((noinline)) static void leave_a_send(void)
{
    TRY {
        CALL(MPI_Send)(&me, 1, MPI_INT, all, 0, MPI_COMM_WORLD);
        printf("not here\n");
    }
    CATCH {
        left++;
    }
}

__attribute__((noinline)) static void leave_a_reduction(MPI_Op op)
{
    TRY {
        int one = 1, two = 2;
        CALL(MPI_Reduce_local)(&one, &two, 1, MPI_INT, op);
        printf("not here\n");
    }
    CATCH {
        left++;
    }
}

__attribute__((noinline)) static void leave_an_attribute(int keyval)
{
    CALL(MPI_Comm_set_attr)(MPI_COMM_SELF, keyval, &me);
    TRY {
        CALL(MPI_Comm_set_attr)(MPI_COMM_SELF, keyval, &all);
        printf("not here\n");
    }
    CATCH {
        left++;
    }
}

static void jumps(void)
{
    MPI_Op op;
    int keyval;
    for (int i = 0; i < 3; i++)
        leave_a_send();
    deep(5);
    CALL(MPI_Op_create)(operation, 1, &op);
    leave_a_reduction(op);
    deep(1);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
    leave_an_attribute(keyval);
    is_leaving = 0;
    deep(2);
}

/* Not counted: these are inside another call. */
static void call_inside(void)
{
    MPI_Barrier(MPI_COMM_SELF);
    inner++;
}

static void on_signal(int number)
{
    (void)number;
    call_inside();
}

static ucontext_t outside, fiber;
static char *stack_of_fiber;

static void in_fiber(void)
{
    call_inside();
}

/* Calls MPI in its own frame, in a handler on an alternate stack, and in a fiber. */
static void operation_that_calls(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)length;
    (void)type;
    call_inside();
    raise(SIGUSR1);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack_of_fiber;
    fiber.uc_stack.ss_size = STACK_BYTES;
    fiber.uc_link = &outside;
    makecontext(&fiber, in_fiber, 0);
    swapcontext(&outside, &fiber);
}

static void *reduce(void *stack)
{
    stack_t alternate;
    struct sigaction action;
    MPI_Op op;
    int one = 1, two = 2;
    memset(&alternate, 0, sizeof alternate);
    alternate.ss_sp = stack;
    alternate.ss_size = STACK_BYTES;
    sigaltstack(&alternate, NULL);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    CALL(MPI_Op_create)(operation_that_calls, 1, &op);
    for (int i = 0; i < 10; i++)
        CALL(MPI_Reduce_local)(&one, &two, 1, MPI_INT, op);
    CALL(MPI_Op_free)(&op);
    return NULL;
}

/* The stacks of the handler and of the fiber lie above that of the thread that calls MPI: in the
 * first thread's frame. The first thread does the same, with stacks that lie in its own. */
static void inside_other_calls(void)
{
    char stacks[2][STACK_BYTES];
    pthread_t thread;
    stack_of_fiber = stacks[1];
    if (pthread_create(&thread, NULL, reduce, stacks[0]) != 0)
        exit(70);
    pthread_join(thread, NULL);
    stack_of_fiber = (char *)malloc(STACK_BYTES);
    reduce(malloc(STACK_BYTES));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "jumps";
    int provided;
    MPI_Errhandler handler;
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    CALL(MPI_Comm_create_errhandler)(on_error, &handler);
    CALL(MPI_Comm_set_errhandler)(MPI_COMM_WORLD, handler);
    if (strcmp(how, "jumps") == 0) {
        jumps();
    } else if (strcmp(how, "rounds") == 0) {
        leave_a_send();
        for (int i = 0; i < ROUNDS; i++) {
            deep(1);
            usleep(ROUND_US);
        }
    } else if (strcmp(how, "inner") == 0) {
        inside_other_calls();
    }
    if (strcmp(how, "last") == 0)
        leave_a_send();
    CALL(MPI_Finalize)();
    printf("rank %d: %d left, %d inside\n", me, left, inner);
    counting_write(me);
    return 0;
}

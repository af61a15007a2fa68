// The conversation in C++. `conversation_cpp [STATUS]` leaves with STATUS after MPI_Finalize.
#include "conversation.hpp"

#include <chrono>
#include <iostream>
#include <thread>

namespace {

// C++ programs may call MPI before main, and before the constructors of preloaded libraries have run.
struct Early {
    int initialized = -1;
    Early() { CALL(MPI_Initialized)(&initialized); }
} early;

long running = 7;

} // namespace

Numbers message(int many, int source, int tag)
{
    Numbers numbers;
    for (int i = 0; i < many; i++)
        numbers.push_back((source * 1000 + tag * 10 + i * 7) % 9973);
    return numbers;
}

void digest(const Numbers &numbers)
{
    for (int number : numbers)
        running = (running * 31 + number) % 1000003;
}

void tell(const std::string &section)
{
    std::cout << section << ' ' << running << '\n';
    running = 7;
}

void nap()
{
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

int main(int argc, char **argv)
{
    if (early.initialized != 0)
        return 70;
    int provided;
    CALL(MPI_Init_thread)(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int rank;
    {
        const Cast cast;
        rank = cast.rank;
        for (auto section : {blocking, nonblocking, completion, persistent, wildcard, sendrecv, nobody, probe, collectives,
                             nonblocking_collectives, intercommunicator, groups, cancelled, derived, zero, freed, many})
            section(cast);
    }
    CALL(MPI_Finalize)();
    counting_write(rank);
    return argc > 1 ? std::stoi(argv[1]) : 0;
}

// The conversation in C++. `conversation_cpp [STATUS]`: the last rank leaves with STATUS.
#include "conversation.hpp"

#include <chrono>
#include <iostream>
#include <thread>

namespace {

// C++ programs may call MPI before main, and before the constructors of preloaded libraries have
// run.
struct Early {
    int initialized = -1;
    Early() { CALL(MPI_Initialized)(&initialized); }
} early;

long running = 7;

// The last rank leaves late and with the status that was asked for: some launchers end all others
// at once when one leaves with another status than 0, be it after MPI_Finalize.
int leaving(bool last, int status)
{
    if (status == 0 || !last)
        return 0;
    std::cout.flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return status;
}

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
    bool last;
    {
        const Cast cast;
        rank = cast.rank;
        last = rank == cast.size - 1;
        for (auto section : {blocking, nonblocking, completion, persistent, wildcard, sendrecv,
                             nobody, probe, collectives, nonblocking_collectives, intercommunicator,
                             groups, cancelled, derived, zero, freed, many})
            section(cast);
    }
    CALL(MPI_Finalize)();
    counting_write(rank);
    return leaving(last, argc > 1 ? std::stoi(argv[1]) : 0);
}

// What the parts of the C++ conversation share; README.md tells the script.
#pragma once

#include "counting.h"
#include <mpi.h>
#include <string>
#include <vector>

using Numbers = std::vector<int>;

// A communicator that is freed with its owner.
class Communicator {
public:
    Communicator() = default;
    explicit Communicator(MPI_Comm made) : handle_(made) {}
    Communicator(Communicator &&other) noexcept : handle_(other.release()) {}
    Communicator &operator=(Communicator &&other) noexcept;
    ~Communicator() { reset(); }

    MPI_Comm get() const { return handle_; }
    explicit operator bool() const { return handle_ != MPI_COMM_NULL; }
    void reset();
    int rank() const;
    int size() const;

private:
    MPI_Comm release();
    MPI_Comm handle_ = MPI_COMM_NULL;
};

// The script's cast: ranks and communicators, made and told about by the constructor.
struct Cast {
    Cast();
    int rank, size, left, right;
    int parity, half_rank, half_size, remote_size;
    Communicator dup, half, reversed, pair, inter, merged, idup;

    // World ranks behind the ranks of other communicators.
    int world_of_half(int which, int member) const;
    int world_of_merged(int member) const;
};

// The message of `many` numbers that world rank `source` sends with `tag`.
Numbers message(int many, int source, int tag);
// Takes numbers into the running digest; printed and begun anew by `tell`.
void digest(const Numbers &numbers);
void tell(const std::string &section);
// A short sleep between two tests of something that has not happened yet.
void nap();

void intercommunicator(const Cast &);
void groups(const Cast &);
void blocking(const Cast &);
void sendrecv(const Cast &);
void nobody(const Cast &);
void probe(const Cast &);
void wildcard(const Cast &);
void derived(const Cast &);
void zero(const Cast &);
void many(const Cast &);
void nonblocking(const Cast &);
void completion(const Cast &);
void persistent(const Cast &);
void cancelled(const Cast &);
void freed(const Cast &);
void collectives(const Cast &);
void nonblocking_collectives(const Cast &);

/* Calls of many kinds, so and so often: `call_graph [ROUNDS]`. In each round:
 *
 *   count_queens         calls itself
 *   ackermann            calls itself with what it gets from itself
 *   is_even, is_odd      call each other
 *   add, subtract, ...   in a table, called through pointers
 *   Node::value          virtual functions of a tree, called through its base class
 *   power<N>             a function for each N
 *   count_words          the standard library's templates, lambdas
 *   by_last_digit        called by qsort of the C library
 *   MPI_Allreduce, MPI_Sendrecv
 *
 * and MPI_Barrier behind the last. Odd ranks do more of some. All functions but `main` are called
 * between MPI_Init and MPI_Finalize. Waits for LOG_DIR/stop in the end (region_log.h), and prints
 * how often qsort has called. To be compiled without inlining. */
#include "region_log.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mpi.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace work {

/* Between rounds: a rank has packets for some of them, should nobody take any for so long. */
constexpr int BREAK_US = 60 * 1000;

static int me, all;
static long comparisons;

/* The same numbers in each run. */
class Random {
  public:
    explicit Random(unsigned seed) : state(seed * 2654435761u + 1) {}
    unsigned below(unsigned limit)
    {
        step();
        return (state >> 8) % limit;
    }

  private:
    void step() { state = state * 1664525u + 1013904223u; }
    unsigned state;
};

static bool is_free(const std::vector<int> &columns, int row, int column)
{
    for (int above = 0; above < row; above++)
        if (columns[above] == column || std::abs(columns[above] - column) == row - above)
            return false;
    return true;
}

static int count_queens(std::vector<int> &columns, int row)
{
    int size = static_cast<int>(columns.size()), found = 0;
    if (row == size)
        return 1;
    for (int column = 0; column < size; column++)
        if (is_free(columns, row, column)) {
            columns[row] = column;
            found += count_queens(columns, row + 1);
        }
    return found;
}

static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static bool is_odd(unsigned n);
static bool is_even(unsigned n)
{
    return n == 0 || is_odd(n - 1);
}
static bool is_odd(unsigned n)
{
    return n != 0 && is_even(n - 1);
}

static long add(long a, long b)
{
    return a + b;
}
static long subtract(long a, long b)
{
    return a - b;
}
static long multiply(long a, long b)
{
    return a * b % 1000003;
}
static long divide(long a, long b)
{
    return b == 0 ? 0 : a / b;
}

using Operation = long (*)(long, long);
static const Operation operations[] = {add, subtract, multiply, divide};

static long operate(Random &random, int times)
{
    long value = 1;
    for (int i = 0; i < times; i++)
        value = operations[random.below(4)](value, random.below(1000));
    return value;
}

struct Node {
    virtual ~Node() = default;
    virtual long value() const = 0;
};

struct Leaf : Node {
    explicit Leaf(long number) : number(number) {}
    long value() const override { return number; }
    long number;
};

struct Branch : Node {
    Branch(Operation operation, std::unique_ptr<Node> left, std::unique_ptr<Node> right)
        : operation(operation), left(std::move(left)), right(std::move(right))
    {
    }
    long value() const override { return operation(left->value(), right->value()); }
    Operation operation;
    std::unique_ptr<Node> left, right;
};

static std::unique_ptr<Node> grow(Random &random, int depth)
{
    if (depth == 0 || random.below(8) == 0)
        return std::make_unique<Leaf>(random.below(100));
    auto left = grow(random, depth - 1), right = grow(random, depth - 1);
    return std::make_unique<Branch>(operations[random.below(4)], std::move(left),
                                    std::move(right));
}

template <int N> static unsigned power(unsigned base)
{
    return base * power<N - 1>(base);
}
template <> unsigned power<0>(unsigned)
{
    return 1;
}

static long count_words(Random &random, int words)
{
    std::map<std::string, int> counts;
    for (int i = 0; i < words; i++)
        counts["word " + std::to_string(random.below(20))]++;
    std::vector<std::pair<int, std::string>> sorted;
    for (const auto &[word, count] : counts)
        sorted.emplace_back(count, word);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto &one, const auto &other) { return one > other; });
    long sum = 0;
    std::function<void(int)> take = [&sum](int count) { sum = sum * 7 + count; };
    std::for_each(sorted.begin(), sorted.end(), [&](const auto &pair) { take(pair.first); });
    return sum;
}

static int by_last_digit(const void *one, const void *other)
{
    comparisons++;
    return *static_cast<const int *>(one) % 10 - *static_cast<const int *>(other) % 10;
}

static int last_of_sorted(Random &random)
{
    int numbers[50];
    for (int &number : numbers)
        number = random.below(1000);
    qsort(numbers, 50, sizeof *numbers, by_last_digit);
    return numbers[49];
}

static long exchange(long sum)
{
    long total = 0, received = 0;
    MPI_Allreduce(&sum, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&sum, 1, MPI_LONG, (me + 1) % all, 5, &received, 1, MPI_LONG,
                 (me + all - 1) % all, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return total + received;
}

static long round(Random &random, int more)
{
    std::vector<int> columns(5 + more);
    long sum = count_queens(columns, 0);
    sum += ackermann(2, 3 + more);
    sum += is_even(random.below(90));
    sum += operate(random, 100 * (1 + more));
    auto tree = grow(random, 6);
    sum += tree->value();
    sum += power<12>(3);
    sum += count_words(random, 40);
    sum += last_of_sorted(random);
    return exchange(sum % 1000003);
}

static long run(int rounds)
{
    Random random(7 + me);
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum += round(random, me % 2);
        usleep(BREAK_US);
    }
    return sum;
}

} // namespace work

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &work::me);
    MPI_Comm_size(MPI_COMM_WORLD, &work::all);
    long sum = work::run(rounds);
    /* The last record of the rank: when it has been taken, all others have. */
    MPI_Barrier(MPI_COMM_WORLD);
    region_log_wait(work::me);
    MPI_Finalize();
    printf("rank %d: sum %ld, %ld comparisons\n", work::me, sum, work::comparisons);
    return 0;
}

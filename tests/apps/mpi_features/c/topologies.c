/* Topologies, with and without leave to number the ranks anew. */
#include "sections.h"

enum { RANKS_MAX = 64 };

static void cartesian(int reorder)
{
    MPI_Comm grid, row;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], from, to, rank, mapped = -1, count = -1,
        kind = -1, size;
    MPI_Dims_create(all, 2, dims);
    MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coords);
    MPI_Topo_test(grid, &kind);
    MPI_Cartdim_get(grid, &count);
    say("grid %d x %d, reorder %d: rank %d at %d,%d, mapped to %d, cartesian %d, %d dimensions",
        dims[0], dims[1], reorder, rank, coords[0], coords[1], mapped, kind == MPI_CART, count);
    for (int direction = 0; direction < 2; direction++) {
        MPI_Cart_shift(grid, direction, 1, &from, &to);
        say("  along %d from %d to %d", direction, from == MPI_PROC_NULL ? -1 : from,
            to == MPI_PROC_NULL ? -1 : to);
    }
    MPI_Cart_get(grid, 2, dims, periods, coords);
    MPI_Cart_rank(grid, coords, &from);
    say("  periods %d %d, back to %d", periods[0], periods[1], from);
    int keep[2] = {0, 1}, sum = 0;
    MPI_Cart_sub(grid, keep, &row);
    MPI_Comm_size(row, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
    say("  row of %d, sum %d", size, sum);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
}

/* A ring in which the first rank knows everybody. */
static void graph(int reorder)
{
    MPI_Comm comm;
    int index[RANKS_MAX], edges[4 * RANKS_MAX], n = 0, neighbours[RANKS_MAX], count = -1, rank,
                                                nodes, all_edges, mapped;
    for (int i = 0; i < all; i++) {
        edges[n++] = (i + 1) % all;
        edges[n++] = (i + all - 1) % all;
        index[i] = n;
    }
    MPI_Graph_map(MPI_COMM_WORLD, all, index, edges, &mapped);
    MPI_Graph_create(MPI_COMM_WORLD, all, index, edges, reorder, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Graph_neighbors_count(comm, rank, &count);
    MPI_Graph_neighbors(comm, rank, count, neighbours);
    MPI_Graphdims_get(comm, &nodes, &all_edges);
    say("graph, reorder %d: rank %d, mapped to %d, %d neighbours, first %d, %d nodes, %d edges",
        reorder, rank, mapped, count, neighbours[0], nodes, all_edges);
    MPI_Graph_get(comm, all, n, index, edges);
    say("  index %d, edge %d", index[all - 1], edges[n - 1]);
    MPI_Comm_free(&comm);
}

static void distributed(int reorder)
{
    MPI_Comm comm;
    int right = (me + 1) % all, left = (me + all - 1) % all, in = -1, out = -1, weighted = -1, rank;
    int sources[4] = {0}, destinations[4] = {0}, weights_in[4] = {0}, weights_out[4] = {0}, kind;
    int from[2] = {left, right}, to[1] = {right}, weights_from[2] = {3, 4}, weights_to[1] = {5};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, weights_from, 1, to, weights_to,
                                   MPI_INFO_NULL, 0, &comm);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    MPI_Dist_graph_neighbors(comm, in, sources, weights_in, out, destinations, weights_out);
    say("adjacent: %d in, %d out, weighted %d, from %d (%d), to %d (%d)", in, out, weighted,
        sources[0], weights_in[0], destinations[0], weights_out[0]);
    MPI_Comm_free(&comm);
    /* Every rank tells of its right neighbour's edge to the one after it. */
    int source = right, degree = 1, destination = (right + 1) % all;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, &destination, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, reorder, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Topo_test(comm, &kind);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    MPI_Dist_graph_neighbors(comm, in, sources, MPI_UNWEIGHTED, out, destinations, MPI_UNWEIGHTED);
    say("distributed, reorder %d: rank %d, %d in, %d out, weighted %d, from %d to %d, kind %d",
        reorder, rank, in, out, weighted, sources[0], destinations[0], kind == MPI_DIST_GRAPH);
    MPI_Comm_free(&comm);
}

void topologies(void)
{
    for (int reorder = 0; reorder < 2; reorder++) {
        cartesian(reorder);
        graph(reorder);
        distributed(reorder);
    }
}

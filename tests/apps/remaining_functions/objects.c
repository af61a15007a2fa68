/* Groups, communicators and their attributes, topologies, infos, error classes, and what MPI says
 * of itself. */
#include "sections.h"

#include <string.h>

static void groups(void)
{
    MPI_Group world, first, rest, made;
    int zero = 0, where = -1, result = -1, size = -1, rank = -1, range[1][3] = {{0, all - 1, 2}};
    MPI_Comm_group(everybody, &world);
    MPI_Group_incl(world, 1, &zero, &first);
    MPI_Group_excl(world, 1, &zero, &rest);
    MPI_Group_union(rest, first, &made);
    MPI_Group_compare(made, world, &result);
    fold(result == MPI_SIMILAR);
    MPI_Group_translate_ranks(made, 1, &zero, world, &where);
    fold(where);
    MPI_Group_free(&made);
    MPI_Group_intersection(world, rest, &made);
    MPI_Group_size(made, &size);
    fold(size);
    MPI_Group_free(&made);
    MPI_Group_difference(world, rest, &made);
    MPI_Group_rank(made, &rank);
    fold(rank);
    MPI_Group_free(&made);
    MPI_Group_range_incl(world, 1, range, &made);
    MPI_Group_size(made, &size);
    fold(size);
    MPI_Group_free(&made);
    MPI_Group_range_excl(world, 1, range, &made);
    MPI_Group_size(made, &size);
    fold(size);
    MPI_Comm part;
    MPI_Comm_create(everybody, rest, &part);
    fold(part == MPI_COMM_NULL);
    if (part != MPI_COMM_NULL) {
        MPI_Comm again;
        MPI_Comm_create_group(part, rest, 3, &again);
        MPI_Comm_size(again, &size);
        fold(size);
        MPI_Comm_free(&again);
        MPI_Comm_free(&part);
    }
    MPI_Group_free(&made);
    MPI_Group_free(&rest);
    MPI_Group_free(&first);
    MPI_Group_free(&world);
}

static int copied(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)out = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static void communicators(void)
{
    static int value = 3;
    MPI_Comm dup, half, inter, merged;
    MPI_Request request;
    MPI_Info info;
    MPI_Errhandler own, now;
    MPI_Group remote;
    int key, flag = -1, length = 0, result = -1, size = -1, rank = -1;
    void *found = NULL;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Comm_create_keyval(copied, comm_deletes, &key, NULL);
    MPI_Comm_set_attr(everybody, key, &value);
    MPI_Comm_idup(everybody, &dup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(dup, key, &found, &flag);
    fold(flag && found == &value);
    MPI_Comm_delete_attr(everybody, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_set_name(dup, "a dup");
    MPI_Comm_get_name(dup, name, &length);
    fold_text(name);
    MPI_Comm_compare(dup, everybody, &result);
    fold(result == MPI_CONGRUENT);
    MPI_Comm_get_info(dup, &info);
    MPI_Comm_set_info(dup, info);
    MPI_Comm_free(&dup);
    MPI_Comm_dup_with_info(everybody, info, &dup);
    MPI_Info_free(&info);
#ifdef DECLARED_MPI_Comm_idup_with_info
    MPI_Comm other;
    MPI_Comm_idup_with_info(dup, MPI_INFO_NULL, &other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
#endif
    MPI_Comm_disconnect(&dup);
    MPI_Comm_split(everybody, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, everybody, me % 2 ? 0 : 1, 5, &inter);
    MPI_Comm_test_inter(inter, &flag);
    MPI_Comm_remote_size(inter, &size);
    MPI_Comm_remote_group(inter, &remote);
    MPI_Group_rank(remote, &rank);
    MPI_Group_free(&remote);
    fold(flag);
    fold(size);
    fold(rank);
    MPI_Intercomm_merge(inter, me % 2, &merged);
    MPI_Comm_rank(merged, &rank);
    fold(rank);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_create_errhandler(comm_told, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
    fold(now == own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&own);
}

static void topologies(void)
{
    MPI_Comm grid, line, graph;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, found[2] = {-1, -1}, keep[2] = {1, 0},
        coords[2] = {-1, -1};
    int number = -1, edges = -1, from = -1, to = -1, rank = -1, index[64], neighbours[64],
        kind = -1;
    MPI_Dims_create(all, 2, dims);
    fold_ints(dims, 2);
    MPI_Cart_create(everybody, 2, dims, periods, 1, &grid);
    MPI_Topo_test(grid, &kind);
    MPI_Cartdim_get(grid, &number);
    MPI_Cart_get(grid, 2, dims, found, coords);
    MPI_Cart_rank(grid, coords, &rank);
    MPI_Cart_coords(grid, rank, 2, found);
    MPI_Cart_shift(grid, 0, 1, &from, &to);
    MPI_Cart_sub(grid, keep, &line);
    fold(kind == MPI_CART);
    fold(number);
    fold(rank);
    fold(from);
    fold(to);
    fold_ints(found, 2);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
    MPI_Cart_map(everybody, 2, dims, periods, &rank);
    fold(rank);
    for (int i = 0; i < all; i++) {
        index[i] = i + 1;
        neighbours[i] = (i + 1) % all;
    }
    MPI_Graph_create(everybody, all, index, neighbours, 0, &graph);
    MPI_Graphdims_get(graph, &number, &edges);
    MPI_Graph_get(graph, number, edges, index, neighbours);
    fold(number);
    fold_ints(neighbours, edges);
    MPI_Graph_neighbors_count(graph, me, &number);
    MPI_Graph_neighbors(graph, me, number, neighbours);
    fold_ints(neighbours, number);
    MPI_Graph_map(everybody, all, index, neighbours, &rank);
    fold(rank);
    MPI_Comm_free(&graph);
    int sources[4], destinations[4], degree = 1, weights[4] = {1, 1, 1, 1}, in = -1, outward = -1,
                                     weighted = -1;
    MPI_Dist_graph_create(everybody, 1, &me, &degree, &right, weights, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &outward, &weighted);
    MPI_Dist_graph_neighbors(graph, in, sources, weights, outward, destinations, weights);
    fold(weighted);
    fold_ints(sources, in);
    fold_ints(destinations, outward);
    MPI_Comm_free(&graph);
}

static void infos(void)
{
    MPI_Info info, twin;
    int keys = -1, flag = -1;
    char key[MPI_MAX_INFO_KEY + 1] = "", value[32] = "";
    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "first");
    MPI_Info_set(info, "two", "second");
    MPI_Info_delete(info, "two");
    MPI_Info_dup(info, &twin);
    MPI_Info_get_nkeys(twin, &keys);
    MPI_Info_get_nthkey(twin, 0, key);
    fold(keys);
    fold_text(key);
#ifdef DECLARED_MPI_Info_get
    int length = -1;
    MPI_Info_get_valuelen(twin, "one", &length, &flag);
    MPI_Info_get(twin, "one", 31, value, &flag);
    fold(length);
#endif
#ifdef DECLARED_MPI_Info_get_string
    int room = sizeof value;
    MPI_Info_get_string(twin, "one", &room, value, &flag);
    fold(room);
#endif
    fold_text(value);
    MPI_Info_free(&twin);
    MPI_Info_free(&info);
#ifdef DECLARED_MPI_Info_create_env
    char word[] = "word", *words[] = {word, NULL};
    MPI_Info_create_env(1, words, &info);
    MPI_Info_get_nkeys(info, &keys);
    fold(keys > 0);
    MPI_Info_free(&info);
#endif
#ifdef DECLARED_MPI_Get_hw_resource_info
    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    fold(keys);
    MPI_Info_free(&info);
#endif
}

static void classes(void)
{
    int class = -1, code = -1, found = -1, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "our own");
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    fold(found == class);
    fold_text(text);
#ifdef DECLARED_MPI_Remove_error_class
    MPI_Remove_error_string(code);
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(class);
#endif
}

static void memory_and_clocks(void)
{
    int *memory = NULL, flag = -1, level = -1, version = -1, subversion = -1, length = 0, yes = -1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Aint address;
    MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
    MPI_Get_address(memory, &address);
    fold(address != 0);
#ifdef DECLARED_MPI_Aint_add
    fold(MPI_Aint_diff(MPI_Aint_add(address, 8), address));
#endif
    MPI_Free_mem(memory);
    MPI_Op_commutative(MPI_SUM, &yes);
    fold(yes);
    MPI_Initialized(&flag);
    fold(flag);
    MPI_Finalized(&flag);
    fold(flag);
    MPI_Query_thread(&level);
    fold(level);
    MPI_Is_thread_main(&flag);
    fold(flag);
    MPI_Get_version(&version, &subversion);
    fold(10 * version + subversion);
    MPI_Get_library_version(text, &length);
    fold_text(text);
    MPI_Get_processor_name(text, &length);
    fold_text(text);
    fold(MPI_Wtick() > 0 && MPI_Wtime() >= 0);
    MPI_Pcontrol(1);
}

void objects(void)
{
    groups();
    communicators();
    topologies();
    infos();
    classes();
    memory_and_clocks();
}

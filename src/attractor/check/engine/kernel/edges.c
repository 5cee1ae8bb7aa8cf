/* Edges that are noted while the search goes on, so that no state is expanded a second time for them.
 *
 * Each thread notes those of the states that it expands, in that order; whoever inserts a successor writes its number to
 * the edge, on whichever thread that is. A step to a successor that was committed lately has no record to be inserted by;
 * until all is inserted its target is how many edges ago the same successor was named.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define TOO_LONG_AGO (1ull << 31)

void edges_forget(Edges *edges) {
    free(edges->lately);
    large_free(&edges->sources);
    large_free(&edges->targets);
    large_free(&edges->actions);
    large_free(&edges->repeats);
    memset(edges, 0, sizeof *edges);
}

bool edges_begin(Edges *edges) {
    edges->lately = calloc(LATELY, sizeof *edges->lately);
    edges->are_noted = edges->lately != NULL;
    return edges->are_noted;
}

size_t edges_bytes(const Edges *edges) {
    size_t halves = edges->sources.capacity + edges->targets.capacity + edges->actions.capacity;
    return halves * sizeof(uint32_t) + edges->repeats.capacity * sizeof(uint64_t);
}

bool edges_reserve(Edges *edges, uint32_t state, size_t degree) {
    size_t length = edges->targets.length + degree, known = edges->sources.length;
    if (edges->targets.length - edges->round > UINT32_MAX - degree) return false;
    if (!large_reserve(&edges->targets, sizeof(uint32_t), length) || !large_reserve(&edges->actions, sizeof(uint32_t), length) ||
        !large_reserve(&edges->repeats, sizeof(uint64_t), edges->repeats.length + degree) ||
        !large_reserve(&edges->sources, sizeof(uint32_t), known + 2))
        return false;
    ((uint32_t *)edges->sources.data)[known] = state;
    ((uint32_t *)edges->sources.data)[known + 1] = (uint32_t)degree;
    edges->sources.length = known + 2;
    return true;
}

/* Where `place` of the lately committed successors was named last, if that is near enough to say. */
bool edges_repeat(Edges *edges, size_t place) {
    uint64_t here = edges->targets.length, ago = here - edges->lately[place];
    if (ago >= TOO_LONG_AGO) return false;
    ((uint32_t *)edges->targets.data)[here] = (uint32_t)ago;
    ((uint64_t *)edges->repeats.data)[edges->repeats.length++] = here;
    return true;
}

void edges_settle(Edges *edges) {
    uint32_t *targets = edges->targets.data;
    const uint64_t *repeats = edges->repeats.data;
    for (size_t i = 0; i < edges->repeats.length; i++) targets[repeats[i]] = targets[repeats[i] - targets[repeats[i]]];
    edges->repeats.length = 0;
    edges->round = edges->actions.length = edges->targets.length;
}

void edges_give_up(Kernel *kernel) {
    for (uint32_t t = 0; kernel->workers && t < kernel->threads; t++) edges_forget(&kernel->workers[t].edges);
    kernel->notes_edges = false;
}

void edges_agree(Kernel *kernel) {
    for (uint32_t t = 0; kernel->notes_edges && t < kernel->threads; t++)
        if (!kernel->workers[t].edges.are_noted) edges_give_up(kernel);
}

/* Where the edges of each state will lie once those of all threads are put together. */
static void place_sources(Kernel *kernel) {
    uint64_t at = 0;
    for (uint32_t t = 0; t < kernel->threads; t++) {
        const Edges *edges = &kernel->workers[t].edges;
        const uint32_t *source = edges->sources.data;
        for (size_t i = 0; i < edges->sources.length; i += 2) {
            size_t state = dense_of(kernel, source[i]);
            kernel->edge_offsets[state] = at;
            kernel->edge_degrees[state] = source[i + 1];
            at += source[i + 1];
        }
    }
    kernel->edge_count = at;
}

static bool append(Vector *all, const Vector *part, size_t total) {
    if (!large_reserve(all, sizeof(uint32_t), total)) return false;
    if (part->length) memcpy((uint32_t *)all->data + all->length, part->data, part->length * sizeof(uint32_t));
    all->length += part->length;
    return true;
}

/* Hand the first worker's arrays over to the kernel, with the others' behind them. */
bool edges_join(Kernel *kernel) {
    Edges *first = &kernel->workers[0].edges;
    for (uint32_t t = 1; t < kernel->threads; t++) {
        const Edges *edges = &kernel->workers[t].edges;
        if (!append(&first->targets, &edges->targets, kernel->edge_count)) return false;
        if (!append(&first->actions, &edges->actions, kernel->edge_count)) return false;
    }
    kernel->edge_targets = first->targets.data;
    kernel->edge_actions = first->actions.data;
    first->targets = first->actions = (Vector){0};
    edges_give_up(kernel);
    return true;
}

static void make_dense(Kernel *kernel) {
    uint32_t *targets = kernel->edge_targets;
    for (size_t e = 0; e < kernel->edge_count; e++)
        if (targets[e] != NO_STATE) targets[e] = (uint32_t)dense_of(kernel, targets[e]);
}

bool edges_take(Kernel *kernel) {
    size_t states = kernel_count(kernel), known = 0;
    if (!kernel->notes_edges || states == 0) return false;
    for (uint32_t t = 0; t < kernel->threads; t++) known += kernel->workers[t].edges.sources.length / 2;
    if (known != states) return false;
    kernel_free_graph(kernel);
    kernel->edge_offsets = pages_resize(NULL, states * sizeof *kernel->edge_offsets);
    kernel->edge_degrees = pages_resize(NULL, states * sizeof *kernel->edge_degrees);
    if (!kernel->edge_offsets || !kernel->edge_degrees) return false;
    for (uint32_t t = 0; t < kernel->threads; t++) edges_settle(&kernel->workers[t].edges);
    place_sources(kernel);
    if (!edges_join(kernel)) return false;
    if (kernel->threads > 1) make_dense(kernel);
    return true;
}

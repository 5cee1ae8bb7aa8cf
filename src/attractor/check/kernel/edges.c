/* Edges that are noted while the search goes on, so that no state is expanded a second time for them.
 *
 * One thread only: states then have one number from the start, and a successor's number is known as soon as it is
 * inserted. The edges of a state lie together, in the order of its steps; states that had to wait for an answer come
 * later than their number says. A step to a successor that was committed lately has no record to be inserted by; until
 * the end of the round its target is how many edges ago the same successor was named.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define TOO_LONG_AGO (1ull << 31)

void edges_forget(Edges *edges) {
    free(edges->lately);
    vector_free(&edges->offsets);
    vector_free(&edges->degrees);
    vector_free(&edges->targets);
    vector_free(&edges->actions);
    vector_free(&edges->repeats);
    memset(edges, 0, sizeof *edges);
}

bool edges_begin(Edges *edges) {
    edges->lately = calloc(LATELY, sizeof *edges->lately);
    edges->are_noted = edges->lately != NULL;
    return edges->are_noted;
}

bool edges_reserve(Edges *edges, uint32_t state, size_t degree) {
    size_t length = edges->targets.length + degree;
    if (edges->targets.length - edges->round > UINT32_MAX - degree) return false;
    size_t known = edges->degrees.length, wanted = (size_t)state + 1;
    if (!vector_reserve(&edges->targets, sizeof(uint32_t), length) || !vector_reserve(&edges->actions, sizeof(uint32_t), length) ||
        !vector_reserve(&edges->repeats, sizeof(uint64_t), edges->repeats.length + degree) ||
        !vector_reserve(&edges->offsets, sizeof(uint64_t), wanted) || !vector_reserve(&edges->degrees, sizeof(uint32_t), wanted))
        return false;
    if (known < wanted) edges->offsets.length = edges->degrees.length = wanted;
    ((uint64_t *)edges->offsets.data)[state] = edges->targets.length;
    ((uint32_t *)edges->degrees.data)[state] = (uint32_t)degree;
    edges->states++;
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
    edges->round = edges->targets.length;
}

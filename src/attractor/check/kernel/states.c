/* All states of the search, across the shards of the table: adding the first, packing them anew, numbering them. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

bool kernel_add_initial(Kernel *kernel, const uint32_t *values, bool *added) {
    Worker *worker = &kernel->workers[0];
    memcpy(worker->after, values, kernel->layout.slots * sizeof(uint32_t));
    if (kernel->symmetry.length) kernel_canonical(kernel, worker->after, worker->scratch);
    layout_pack(&kernel->layout, worker->after, worker->words);
    uint64_t hash = hash_words(worker->words, kernel->layout.words);
    uint32_t owner = shard_of(weighted_sum(&kernel->layout, worker->after), kernel->threads), local;
    int inserted =
        shard_insert(&kernel->shards[owner], kernel->layout.words, worker->words, hash, NO_STATE, &local);
    *added = inserted > 0;
    return inserted >= 0;
}

/* What was found one step after a state gets the defaults of slots that came later. */
static bool widen_found(Found *found, uint32_t findings, uint32_t before, uint32_t slots, const uint32_t *defaults) {
    for (uint32_t f = 0; found && f < findings; f++) {
        if (found[f].after == NULL) continue;
        uint32_t *wider = realloc(found[f].after, (slots + 1) * sizeof *wider);
        if (wider == NULL) return false;
        for (uint32_t slot = before; slot < slots; slot++) wider[slot] = defaults[slot];
        found[f].after = wider;
    }
    return true;
}

/* Change the layout: wider fields, further slots. No state changes its shard or its number. */
bool kernel_repack(Kernel *kernel, const uint8_t *bits, uint32_t slots, const uint32_t *defaults) {
    Layout old = kernel->layout;
    if (!layout_make(&kernel->layout, bits, defaults, slots)) return false;
    bool done = workers_make(kernel) && widen_found(kernel->found, kernel->findings, old.slots, slots, defaults);
    for (uint32_t t = 0; done && t < kernel->threads; t++)
        done = widen_found(kernel->workers[t].found, kernel->findings, old.slots, slots, defaults);
    uint32_t *values = malloc((slots + 1) * sizeof *values);
    uint32_t words = kernel->layout.words;
    done = done && values != NULL;
    for (uint32_t s = 0; done && s < kernel->threads; s++) {
        Shard *shard = &kernel->shards[s];
        if (shard->count == 0 && shard->reserved == 0) continue;
        uint64_t *packed = malloc(shard->reserved * words * sizeof *packed);
        done = packed != NULL;
        for (size_t i = 0; done && i < shard->count; i++) {
            layout_unpack(&old, shard->states + i * old.words, values);
            for (uint32_t slot = old.slots; slot < slots; slot++) values[slot] = defaults[slot];
            layout_pack(&kernel->layout, values, packed + i * words);
        }
        if (!done) break;
        free(shard->states);
        shard->states = packed;
        done = shard_rehash(shard, words, shard->buckets);
    }
    free(values);
    layout_free(&old);
    return done;
}

size_t kernel_count(const Kernel *kernel) {
    size_t count = 0;
    for (uint32_t s = 0; s < kernel->threads; s++) count += kernel->shards[s].count;
    return count;
}

void dense_bases(Kernel *kernel) {
    size_t base = 0;
    for (uint32_t s = 0; s < kernel->threads; s++) {
        kernel->dense_base[s] = base;
        base += kernel->shards[s].count;
    }
}

uint32_t interleaved_of(const Kernel *kernel, size_t dense) {
    uint32_t s = kernel->threads - 1;
    while (kernel->dense_base[s] > dense) s--;
    return (uint32_t)((dense - kernel->dense_base[s]) * kernel->threads + s);
}

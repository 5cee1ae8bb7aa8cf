/* States: how slots are packed into words, and what the table of all states found is made of.
 *
 * Each thread adds states to a shard of its own; one index is over all of them. A state's bytes are its words and 4 for its
 * predecessor, some of that in reserve (an eighth where there are millions), and 8 / load for the index, which is between
 * 10.7 and 16: in large tables at most 38.5 for a state of two words.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define SMALL (1u << 20)
#define ONES(width) ((1ull << (width)) - 1)

void *calloc_apart(size_t count, size_t size) {
    void *data = aligned_alloc(APART, count * size);
    if (data) memset(data, 0, count * size);
    return data;
}

/* The way back: which slot a bit belongs to. */
static bool layout_index(Layout *layout) {
    layout->slot_at = calloc((size_t)layout->words * 64, sizeof *layout->slot_at);
    if (layout->slot_at == NULL) {
        layout_free(layout);
        return false;
    }
    for (uint32_t slot = 0; slot < layout->slots; slot++) {
        const Field *field = &layout->fields[slot];
        for (uint32_t bit = 0; bit < field->bits; bit++) layout->slot_at[field->word * 64 + field->shift + bit] = slot;
    }
    return true;
}

/* First fit, widest first; a slot never straddles two words. */
bool layout_make(Layout *layout, const uint8_t *bits, uint32_t slots) {
    Field *fields = calloc(slots + 1, sizeof *fields);
    uint8_t *used = calloc(slots + 1, 1);
    *layout = (Layout){.slots = slots, .words = 1, .fields = fields};
    if (!fields || !used) {
        free(used);
        layout_free(layout);
        return false;
    }
    for (int width = 32; width > 0; width--) {
        for (uint32_t slot = 0; slot < slots; slot++) {
            if (bits[slot] != width) continue;
            uint32_t word = 0;
            while (used[word] + width > 64) word++;
            fields[slot] = (Field){(uint16_t)word, used[word], (uint8_t)width, ONES(width), ONES(width) << used[word]};
            used[word] = (uint8_t)(used[word] + width);
            if (word + 1 > layout->words) layout->words = word + 1;
        }
    }
    free(used);
    return layout_index(layout);
}

void layout_free(Layout *layout) {
    free(layout->fields);
    free(layout->slot_at);
    memset(layout, 0, sizeof *layout);
}

void layout_unpack(const Layout *layout, const uint64_t *words, uint32_t *values) {
    const Field *fields = layout->fields;
    for (uint32_t slot = 0; slot < layout->slots; slot++)
        values[slot] = (uint32_t)((words[fields[slot].word] >> fields[slot].shift) & fields[slot].mask);
}

void layout_pack(const Layout *layout, const uint32_t *values, uint64_t *words) {
    memset(words, 0, layout->words * sizeof *words);
    for (uint32_t slot = 0; slot < layout->slots; slot++)
        words[layout->fields[slot].word] |= (uint64_t)values[slot] << layout->fields[slot].shift;
}

uint64_t hash_words(const uint64_t *words, uint32_t count) {
    uint64_t hash = 0x9E3779B97F4A7C15ull;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * 0xBF58476D1CE4E5B9ull;
        hash ^= hash >> 29;
        hash *= 0x94D049BB133111EBull;
        hash ^= hash >> 32;
    }
    return hash;
}

bool shard_reserve(Shard *shard, uint32_t words, size_t states) {
    if (states <= shard->reserved) return true;
    size_t reserved = shard->reserved ? shard->reserved : 1024;
    while (reserved < states) reserved += reserved < SMALL ? reserved / 2 : reserved / 8;
    uint64_t *grown = pages_resize(shard->states, reserved * words * sizeof *grown);
    if (grown == NULL) return false;
    shard->states = grown;
    uint32_t *parents = pages_resize(shard->parents, reserved * sizeof *parents);
    if (parents == NULL) return false;
    shard->parents = parents;
    shard->reserved = reserved;
    return true;
}

bool index_make(Index *index, size_t buckets) {
    *index = (Index){pages_resize(NULL, buckets * sizeof *index->entries), buckets};
    return index->entries != NULL;
}

void shard_free(Shard *shard) {
    pages_free(shard->states);
    pages_free(shard->parents);
    memset(shard, 0, sizeof *shard);
}

size_t shard_bytes(const Shard *shard, uint32_t words) {
    return shard->reserved * (words * sizeof(uint64_t) + sizeof(uint32_t));
}

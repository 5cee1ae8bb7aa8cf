/* States: how slots are packed into words, and the sharded table of all states found.
 *
 * A shard belongs to one thread while states are inserted, so that inserting needs no locks and no state is lost. A
 * state's bytes are its words and 4 for its predecessor, some of that in reserve (an eighth where there are millions),
 * and 8 / load for the index, which is between 10.7 and 16: in large tables at most 38.5 for a state of two words.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALL (1u << 20)
#define LARGE_PAGE (1u << 21)
#define AHEAD 16
#define ONES(width) ((1ull << (width)) - 1)

void *calloc_apart(size_t count, size_t size) {
    void *data = aligned_alloc(APART, count * size);
    if (data) memset(data, 0, count * size);
    return data;
}

static uint64_t weight_of(uint32_t slot) {
    uint64_t weight = (slot + 1) * 0x9E3779B97F4A7C15ull;
    return (weight ^ weight >> 31) * 0xBF58476D1CE4E5B9ull | 1;
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
bool layout_make(Layout *layout, const uint8_t *bits, const uint32_t *defaults, uint32_t slots) {
    Field *fields = calloc(slots + 1, sizeof *fields);
    uint32_t *kept = calloc(slots + 1, sizeof *kept);
    uint64_t *weights = calloc(slots + 1, sizeof *weights);
    uint8_t *used = calloc(slots + 1, 1);
    *layout = (Layout){.slots = slots, .words = 1, .fields = fields, .defaults = kept, .weights = weights};
    if (!fields || !kept || !weights || !used) {
        free(used);
        layout_free(layout);
        return false;
    }
    memcpy(kept, defaults, slots * sizeof *kept);
    for (uint32_t slot = 0; slot < slots; slot++) weights[slot] = weight_of(slot);
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
    free(layout->defaults);
    free(layout->weights);
    free(layout->slot_at);
    memset(layout, 0, sizeof *layout);
}

uint64_t weighted_sum(const Layout *layout, const uint32_t *values) {
    uint64_t sum = 0;
    for (uint32_t slot = 0; slot < layout->slots; slot++)
        sum += layout->weights[slot] * (uint64_t)((int64_t)values[slot] - (int64_t)layout->defaults[slot]);
    return sum;
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

/* Random access to a large array costs less with large pages, where the system has them. */
static void prefer_large_pages(void *data, size_t size) {
#ifdef MADV_HUGEPAGE
    uintptr_t from = ((uintptr_t)data + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    uintptr_t to = ((uintptr_t)data + size) & ~(uintptr_t)(LARGE_PAGE - 1);
    if (to > from) madvise((void *)from, to - from, MADV_HUGEPAGE); /* advice: refusing it changes nothing */
#else
    (void)data;
    (void)size;
#endif
}

bool shard_reserve(Shard *shard, uint32_t words, size_t states) {
    if (states <= shard->reserved) return true;
    size_t reserved = shard->reserved ? shard->reserved : 1024;
    while (reserved < states) reserved += reserved < SMALL ? reserved / 2 : reserved / 8;
    uint64_t *grown = realloc(shard->states, reserved * words * sizeof *grown);
    if (grown == NULL) return false;
    shard->states = grown;
    prefer_large_pages(grown, reserved * words * sizeof *grown);
    uint32_t *parents = realloc(shard->parents, reserved * sizeof *parents);
    if (parents == NULL) return false;
    shard->parents = parents;
    shard->reserved = reserved;
    return true;
}

bool shard_rehash(Shard *shard, uint32_t words, size_t buckets) {
    uint64_t *index = malloc(buckets * sizeof *index);
    if (index == NULL) return false;
    prefer_large_pages(index, buckets * sizeof *index);
    memset(index, 0, buckets * sizeof *index); /* a page that is read before it is written costs every thread a flush */
    uint64_t ahead[AHEAD] = {0}; /* hashes whose buckets were asked for */
    for (size_t i = 0; i < shard->count + AHEAD; i++) {
        uint64_t hash = ahead[i % AHEAD];
        if (i < shard->count) {
            ahead[i % AHEAD] = hash_words(shard->states + i * words, words);
            __builtin_prefetch(&index[bucket_of(ahead[i % AHEAD], buckets)], 1);
        }
        if (i < AHEAD) continue;
        size_t local = i - AHEAD;
        size_t at = bucket_of(hash, buckets);
        while (index[at]) at = at + 1 == buckets ? 0 : at + 1;
        index[at] = hash << 32 | (uint64_t)(local + 1);
    }
    free(shard->index);
    shard->index = index;
    shard->buckets = buckets;
    return true;
}

/* The bucket comes from the hash's high bits, the tag from its low ones. */
bool shard_find(const Shard *shard, uint32_t words, const uint64_t *state, uint64_t hash, uint32_t *local) {
    uint64_t tag = hash << 32;
    if (shard->buckets == 0) return false;
    for (size_t at = bucket_of(hash, shard->buckets);; at = at + 1 == shard->buckets ? 0 : at + 1) {
        uint64_t entry = shard->index[at];
        if (entry == 0) return false;
        if ((entry ^ tag) >> 32 == 0) {
            uint32_t number = (uint32_t)entry - 1;
            if (same_state(shard->states + (size_t)number * words, state, words)) {
                *local = number;
                return true;
            }
        }
    }
}

int shard_insert(Shard *shard, uint32_t words, const uint64_t *state, uint64_t hash, uint32_t parent, uint32_t *local) {
    if ((shard->count + 1) * 4 > shard->buckets * 3) {
        size_t buckets = shard->buckets == 0 ? 2048 : shard->buckets * (shard->buckets < SMALL ? 4 : 3) / 2;
        if (!shard_rehash(shard, words, buckets)) return -1;
    }
    uint64_t tag = hash << 32;
    size_t at = bucket_of(hash, shard->buckets);
    for (;; at = at + 1 == shard->buckets ? 0 : at + 1) {
        uint64_t entry = shard->index[at];
        if (entry == 0) break;
        if ((entry ^ tag) >> 32 == 0) {
            uint32_t number = (uint32_t)entry - 1;
            if (same_state(shard->states + (size_t)number * words, state, words)) {
                *local = number;
                return 0;
            }
        }
    }
    if (shard->count >= NO_STATE - 1 || !shard_reserve(shard, words, shard->count + 1)) return -1;
    copy_words(shard->states + shard->count * words, state, words);
    shard->parents[shard->count] = parent;
    shard->index[at] = tag | (uint64_t)(shard->count + 1);
    *local = (uint32_t)shard->count++;
    return 1;
}

void shard_free(Shard *shard) {
    free(shard->states);
    free(shard->parents);
    free(shard->index);
    memset(shard, 0, sizeof *shard);
}

size_t shard_bytes(const Shard *shard, uint32_t words) {
    return shard->reserved * (words * sizeof(uint64_t) + sizeof(uint32_t)) + shard->buckets * sizeof(uint64_t);
}

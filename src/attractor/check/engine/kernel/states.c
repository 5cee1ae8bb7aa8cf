/* All states of the search, across the shards of the table: finding them, adding the first, making room, packing them anew,
 * numbering them.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST_BUCKETS 2048
#define MANY_BUCKETS (1u << 20)
#define AHEAD 16
#define FAR 16
#define NEAR 6
#define ALWAYS_INLINE inline __attribute__((always_inline))

uint32_t kernel_lookup(const Kernel *kernel, const uint64_t *state, uint64_t hash) {
    const Index *index = &kernel->index;
    if (index->buckets == 0) return NO_STATE;
    for (size_t at = bucket_of(hash, index->buckets);; at = next_bucket(at, index->buckets)) {
        uint64_t entry = atomic_load_explicit(&index->entries[at], memory_order_acquire);
        uint32_t number = (uint32_t)entry - 1;
        if (entry == 0) return NO_STATE;
        if ((uint32_t)(entry >> 32) == (uint32_t)hash && same_state(state_words(kernel, number), state, kernel->layout.words))
            return number;
    }
}

/* ---- adding ---- */

/* The number of a state; it is added to the `count` states of the owner where nobody knows it, for which there is room. */
static ALWAYS_INLINE uint32_t insert_words(const Kernel *kernel, uint32_t words, uint32_t threads, uint32_t owner, size_t *count,
                                           const uint64_t *state, uint64_t hash, uint32_t parent) {
    const Index *index = &kernel->index;
    const Shard *shard = &kernel->shards[owner];
    const uint32_t number = (uint32_t)(*count * threads + owner);
    for (size_t at = bucket_of(hash, index->buckets);; at = next_bucket(at, index->buckets)) {
        uint64_t entry = atomic_load_explicit(&index->entries[at], memory_order_acquire);
        if (entry == 0) { /* written first, so that whoever sees the entry sees it; not counted yet */
            copy_words(shard->states + *count * words, state, words);
            shard->parents[*count] = parent;
            if (index_claim(&index->entries[at], &entry, hash << 32 | (uint64_t)(number + 1), threads == 1)) {
                ++*count;
                return number;
            }
        }
        if ((uint32_t)(entry >> 32) != (uint32_t)hash) continue;
        uint32_t known = (uint32_t)entry - 1;
        const uint64_t *there = kernel->shards[owner_of(known, threads)].states + place_of(known, threads) * words;
        if (same_state(there, state, words)) return known;
    }
}

/* Ask early for what inserting will touch: the bucket of a record far ahead, the state that is probably equal to one
 * that is nearer. */
static ALWAYS_INLINE void prefetch_words(const Kernel *kernel, uint32_t words, uint32_t threads, const uint64_t *record,
                                         size_t stride, size_t left) {
    const Index *index = &kernel->index;
    if (left > FAR) __builtin_prefetch((const void *)&index->entries[bucket_of(record[FAR * stride], index->buckets)]);
    if (left <= NEAR) return;
    uint64_t entry = index_probe(index, record[NEAR * stride]);
    uint32_t number = (uint32_t)entry - 1;
    if (entry) __builtin_prefetch(kernel->shards[owner_of(number, threads)].states + place_of(number, threads) * words);
}

static ALWAYS_INLINE void insert_all(Worker *worker, uint32_t words, uint32_t threads) {
    const Kernel *kernel = worker->kernel;
    const uint64_t *record = worker->out.data;
    const size_t stride = words + 2, records = worker->out.length / stride;
    const uint32_t owner = (uint32_t)(worker - kernel->workers);
    size_t count = kernel->shards[owner].count; /* others look at the shard all the time: it is written once, in the end */
    const Edges *edges = &worker->edges;
    uint32_t *targets = edges->are_noted ? (uint32_t *)edges->targets.data + edges->round : NULL;
    for (size_t i = 0; i < records; i++, record += stride) {
        prefetch_words(kernel, words, threads, record, stride, records - i);
        uint32_t number = insert_words(kernel, words, threads, owner, &count, record + 2, record[0], (uint32_t)record[1]);
        if (targets) targets[record[1] >> 32] = number;
    }
    kernel->shards[owner].count = count;
    worker->out.length = 0;
}

bool worker_insert(Worker *worker) {
    const Kernel *kernel = worker->kernel;
    const Shard *shard = &kernel->shards[worker - kernel->workers];
    uint32_t words = kernel->layout.words, threads = kernel->threads;
    if (worker->out.length / (words + 2) > shard->limit - shard->count) return false;
    if (words == 1 && threads == 1) insert_all(worker, 1, 1);
    else if (words == 1 && threads == 2) insert_all(worker, 1, 2);
    else insert_all(worker, words, threads);
    return true;
}

/* ---- room ---- */

/* A page that is read before it is written costs every thread a flush; so the index is touched first. */
static void clear_index(Worker *worker) {
    Kernel *kernel = worker->kernel;
    size_t size = kernel->index.buckets * sizeof(uint64_t);
    for (size_t part; (part = next_part(kernel)) < PARTS;)
        pages_clear_fresh((void *)kernel->index.entries, size * part / PARTS, size * (part + 1) / PARTS);
}

/* Add the states [from, to) of a shard to an index in which they are not; their buckets are asked for ahead of time. */
static void index_range(const Kernel *kernel, uint32_t owner, size_t from, size_t to) {
    const Index *index = &kernel->index;
    const Shard *shard = &kernel->shards[owner];
    uint32_t words = kernel->layout.words, threads = kernel->threads;
    uint64_t ahead[AHEAD] = {0}; /* hashes whose buckets were asked for */
    for (size_t i = from; i < to + AHEAD; i++) {
        uint64_t hash = ahead[i % AHEAD];
        if (i < to) {
            ahead[i % AHEAD] = hash_words(shard->states + i * words, words);
            __builtin_prefetch((const void *)&index->entries[bucket_of(ahead[i % AHEAD], index->buckets)], 1);
        }
        if (i < from + AHEAD) continue;
        uint64_t entry = hash << 32 | (uint64_t)((i - AHEAD) * threads + owner + 1);
        for (size_t at = bucket_of(hash, index->buckets);; at = next_bucket(at, index->buckets)) {
            uint64_t there = atomic_load_explicit(&index->entries[at], memory_order_relaxed);
            if (there == 0 && index_claim(&index->entries[at], &there, entry, threads == 1)) break;
        }
    }
}

static void fill_index(Worker *worker) {
    Kernel *kernel = worker->kernel;
    for (size_t part; (part = next_part(kernel)) < PARTS;)
        for (uint32_t s = 0; s < kernel->threads; s++) {
            size_t count = kernel->shards[s].count;
            index_range(kernel, s, count * part / PARTS, count * (part + 1) / PARTS);
        }
}

bool kernel_index(Kernel *kernel, size_t buckets) {
    Index made;
    if (!index_make(&made, buckets)) return false;
    pages_free((void *)kernel->index.entries);
    kernel->index = made;
    crew_share(kernel, clear_index);
    crew_share(kernel, fill_index);
    return true;
}

/* Three quarters of the index are used at most. What is free is shared out. */
bool kernel_make_room(Kernel *kernel, size_t states) {
    size_t known = kernel_count(kernel), buckets = kernel->index.buckets, threads = kernel->threads;
    while ((known + states * threads) * 4 > buckets * 3)
        buckets = buckets == 0 ? FEWEST_BUCKETS : buckets * (buckets < MANY_BUCKETS ? 4 : 3) / 2;
    if (buckets > kernel->index.buckets && !kernel_index(kernel, buckets)) return false;
    size_t share = (buckets / 4 * 3 - known) / threads;
    for (uint32_t s = 0; s < threads; s++) {
        Shard *shard = &kernel->shards[s];
        if ((shard->count + states) * threads >= NO_STATE || !shard_reserve(shard, kernel->layout.words, shard->count + states))
            return false;
        size_t left = shard->reserved - shard->count;
        shard->limit = shard->count + (left < share ? left : share);
    }
    return true;
}

bool kernel_add_initial(Kernel *kernel, const uint32_t *values, bool *added) {
    Worker *worker = &kernel->workers[0];
    memcpy(worker->after, values, kernel->layout.slots * sizeof(uint32_t));
    if (kernel->symmetry.length) kernel_canonical(kernel, worker->after, worker->scratch);
    layout_pack(&kernel->layout, worker->after, worker->words);
    if (!kernel_make_room(kernel, 1)) return false;
    size_t words = kernel->layout.words, known = kernel->shards[0].count, *count = &kernel->shards[0].count;
    insert_words(kernel, (uint32_t)words, kernel->threads, 0, count, worker->words, hash_words(worker->words, (uint32_t)words), NO_STATE);
    *added = *count > known;
    return true;
}

/* ---- packing anew ---- */

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

static void repack_part(const Worker *worker, const Shard *shard, size_t from, size_t to) {
    const Layout *old = worker->kernel->packed_by, *layout = &worker->kernel->layout;
    for (size_t i = from; i < to; i++) {
        layout_unpack(old, shard->states + i * old->words, worker->before);
        layout_pack(layout, worker->before, shard->repacked + i * layout->words);
    }
}

static void repack_states(Worker *worker) {
    Kernel *kernel = worker->kernel;
    memcpy(worker->before, kernel->defaults, kernel->layout.slots * sizeof *worker->before);
    for (size_t part; (part = next_part(kernel)) < PARTS;)
        for (uint32_t s = 0; s < kernel->threads; s++) {
            const Shard *shard = &kernel->shards[s];
            repack_part(worker, shard, shard->count * part / PARTS, shard->count * (part + 1) / PARTS);
        }
}

/* Pack every state as the layout says now, and not as `old` did; false: out of memory, and all is as it was. */
static bool repack_shards(Kernel *kernel, const Layout *old, const uint32_t *defaults) {
    bool done = true;
    for (uint32_t s = 0; s < kernel->threads; s++) {
        Shard *shard = &kernel->shards[s];
        shard->repacked = pages_resize(NULL, (shard->reserved + 1) * kernel->layout.words * sizeof *shard->repacked);
        done = done && shard->repacked;
    }
    kernel->packed_by = old;
    kernel->defaults = defaults;
    if (done) crew_share(kernel, repack_states);
    for (uint32_t s = 0; s < kernel->threads; s++) {
        Shard *shard = &kernel->shards[s];
        pages_free(done ? shard->states : shard->repacked);
        if (done) shard->states = shard->repacked;
        shard->repacked = NULL;
    }
    return done;
}

/* Change the layout: wider fields, further slots. No state changes its number. */
bool kernel_repack(Kernel *kernel, const uint8_t *bits, uint32_t slots, const uint32_t *defaults) {
    Layout old = kernel->layout;
    if (!layout_make(&kernel->layout, bits, slots)) return false;
    bool done = workers_make(kernel) && widen_found(kernel->found, kernel->findings, old.slots, slots, defaults);
    for (uint32_t t = 0; done && t < kernel->threads; t++)
        done = widen_found(kernel->workers[t].found, kernel->findings, old.slots, slots, defaults);
    if (done && kernel->index.buckets)
        done = repack_shards(kernel, &old, defaults) && kernel_index(kernel, kernel->index.buckets);
    layout_free(&old);
    return done;
}

/* ---- numbers ---- */

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

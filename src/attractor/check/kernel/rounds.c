/* Breadth-first search in rounds. In a round each thread expands states of the level, and adds their successors to the
 * table as soon as there are some hundreds of them. A state with a step that is not known yet is put aside as a whole, and
 * done again once Python has told what the step does. Between rounds the table is made larger where it needs to be.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 64
#define BATCH 512
#define ENOUGH 128
#define QUOTA_FIRST 32
#define QUOTA_PER_THREAD 16384
#define ALONE_BELOW 1024

/* Hand over the successors of the state at hand, but for those handed over lately; with `edges`, note the steps. */
static inline __attribute__((always_inline)) bool commit_words(Worker *worker, uint32_t words, Edges *edges) {
    const uint64_t *step = worker->steps.data, *end = step + worker->steps.length * STEP_WORDS(words);
    Vector *out = &worker->out;
    const uint64_t state = worker->state;
    uint64_t *all_lately = worker->lately, *taken = worker->taken;
    uint8_t *is_lately = worker->is_lately;
    worker->generated += worker->steps.length;
    for (; step < end; step += STEP_WORDS(words)) {
        const uint64_t *packed = step + 1;
        taken[(uint32_t)step[0]]++;
        if (edges) ((uint32_t *)edges->actions.data)[edges->targets.length] = (uint32_t)step[0];
        if (step[0] & OUTSIDE) {
            if (edges) ((uint32_t *)edges->targets.data)[edges->targets.length++] = NO_STATE;
            continue;
        }
        uint64_t hash = hash_words(packed, words);
        size_t place = hash >> 20 & (LATELY - 1);
        uint64_t *lately = all_lately + place * words;
        if (!vector_reserve(out, sizeof(uint64_t), out->length + words + 2)) return false;
        uint64_t *record = (uint64_t *)out->data + out->length;
        record[0] = hash;
        record[1] = state;
        copy_words(record + 2, packed, words);
        bool known = is_lately[place] & same_state(lately, packed, words);
        if (edges) {
            record[1] |= (edges->targets.length - edges->round) << 32;
            known = known && edges_repeat(edges, place);
            edges->lately[place] = edges->targets.length++;
        }
        out->length += known ? 0 : words + 2;
        copy_words(lately, packed, words);
        is_lately[place] = 1;
    }
    return true;
}

static bool commit_steps(Worker *worker) {
    uint32_t words = worker->kernel->layout.words;
    Edges *edges = &worker->edges;
    if (edges->are_noted && !edges_reserve(edges, worker->state, worker->steps.length)) edges_forget(edges);
    if (edges->are_noted) return commit_words(worker, words, edges);
    return words == 1 ? commit_words(worker, 1, NULL) : commit_words(worker, words, NULL);
}

static uint32_t item_state(const Kernel *kernel, size_t item) {
    if (kernel->round_redoes) return ((uint32_t *)kernel->redo.data)[item];
    for (uint32_t s = 0;; s++) {
        size_t size = kernel->shards[s].high - kernel->shards[s].low;
        if (item < size) return (uint32_t)((kernel->shards[s].low + item) * kernel->threads + s);
        item -= size;
    }
}

static void round_expand(Worker *worker) {
    Kernel *kernel = worker->kernel;
    size_t batch = BATCH * (kernel->layout.words + 2);
    expand_afresh(worker);
    if (worker->edges.are_noted) edges_settle(&worker->edges);
    for (;;) {
        if (worker->failed || atomic_load_explicit(&kernel->enough, memory_order_relaxed)) break;
        size_t from = atomic_fetch_add(&kernel->cursor, BLOCK);
        if (from >= kernel->round_end) break;
        size_t to = from + BLOCK < kernel->round_end ? from + BLOCK : kernel->round_end;
        for (size_t item = from; item < to && !worker->failed; item++) {
            uint32_t state = item_state(kernel, item);
            if (expand(worker, state)) {
                if (kernel->mode == MODE_LAST_LEVEL) worker->could_go_on |= worker->steps.length > 0;
                else if (!commit_steps(worker)) worker->failed = true;
                continue;
            }
            if (!vector_reserve(&worker->redo, sizeof(uint32_t), worker->redo.length + 1)) worker->failed = true;
            else ((uint32_t *)worker->redo.data)[worker->redo.length++] = state;
        }
        bool is_crowded = worker->out.length >= batch && !worker_insert(worker);
        if (is_crowded || worker->redo.length >= ENOUGH) atomic_store_explicit(&kernel->enough, true, memory_order_relaxed);
    }
    worker_insert(worker);
}

/* How far the round came: what was begun was finished, or put aside. */
static size_t round_reached(const Kernel *kernel) {
    size_t cursor = atomic_load(&kernel->cursor);
    return cursor < kernel->round_end ? cursor : kernel->round_end;
}

/* Collect the states to be done again; true if there are any. */
static bool gather_redo(Kernel *kernel) {
    if (kernel->round_redoes) { /* what was not begun is still to be done */
        size_t begun = round_reached(kernel);
        kernel->redo.length -= begun;
        memmove(kernel->redo.data, (uint32_t *)kernel->redo.data + begun, kernel->redo.length * sizeof(uint32_t));
    }
    for (uint32_t t = 0; t < kernel->threads; t++) {
        Vector *redo = &kernel->workers[t].redo;
        if (redo->length == 0) continue;
        if (!vector_reserve(&kernel->redo, sizeof(uint32_t), kernel->redo.length + redo->length)) {
            kernel->workers[t].failed = true;
            return true;
        }
        memcpy((uint32_t *)kernel->redo.data + kernel->redo.length, redo->data, redo->length * sizeof(uint32_t));
        kernel->redo.length += redo->length;
        redo->length = 0;
    }
    return kernel->redo.length > 0;
}

/* Join what the workers found. A finding that is a step is final at the level's end: a state may come nearer till then. */
static void gather_found(Kernel *kernel) {
    bool settled = false, level_ends = kernel->level_done == kernel->level_size && kernel->redo.length == 0;
    for (uint32_t f = 0; f < kernel->findings; f++) {
        Found *best = &kernel->found[f];
        for (uint32_t t = 0; t < kernel->threads; t++) {
            Found *mine = &kernel->workers[t].found[f];
            if (mine->state == NO_STATE) continue;
            if (!kernel->settled[f] && is_better(best, mine->state, mine->after != NULL)) {
                free(best->after);
                *best = *mine;
                mine->after = NULL;
            }
            free(mine->after);
            *mine = (Found){NO_STATE, NO_STATE, NULL};
        }
        if (best->state != NO_STATE && !kernel->settled[f] && (best->after == NULL || level_ends)) {
            kernel->settled[f] = 1;
            settled = true;
        }
    }
    if (settled && !dispatches_rebuild(kernel)) kernel->workers[0].failed = true;
}

static bool failed(const Kernel *kernel) {
    for (uint32_t t = 0; t < kernel->threads; t++)
        if (kernel->workers[t].failed) return true;
    return false;
}

/* A round that is too small to be shared is done by the first thread alone. */
static bool round_run(Kernel *kernel, size_t count) {
    if (!kernel_make_room(kernel, count / kernel->threads + BLOCK)) return false;
    if (kernel->threads > 1 && count >= ALONE_BELOW && crew_start(kernel)) crew_do(kernel, round_expand);
    else round_expand(&kernel->workers[0]);
    for (uint32_t t = 0; t < kernel->threads; t++) { /* what there was no room for */
        Worker *worker = &kernel->workers[t];
        size_t left = worker->out.length / (kernel->layout.words + 2);
        if (left && !(kernel_make_room(kernel, left) && worker_insert(worker))) return false;
    }
    return true;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool level_next(Kernel *kernel) {
    kernel->level_size = kernel->level_done = 0;
    for (uint32_t s = 0; s < kernel->threads; s++) {
        kernel->shards[s].low = kernel->shards[s].high;
        kernel->shards[s].high = kernel->shards[s].count;
        kernel->level_size += kernel->shards[s].high - kernel->shards[s].low;
    }
    return kernel->level_size > 0;
}

static Advanced rounds(Kernel *kernel, double deadline) {
    size_t most = (size_t)QUOTA_PER_THREAD * kernel->threads;
    for (;;) {
        kernel->round_redoes = kernel->redo.length > 0;
        size_t left = kernel->level_size - kernel->level_done;
        if (!kernel->round_redoes && left == 0) return ADVANCED_LEVEL;
        size_t from = kernel->round_redoes ? 0 : kernel->level_done;
        size_t count = kernel->round_redoes ? kernel->redo.length : left < kernel->quota ? left : kernel->quota;
        atomic_store(&kernel->cursor, from);
        atomic_store(&kernel->enough, false);
        kernel->round_end = from + count;
        if (!round_run(kernel, count)) return ADVANCED_MEMORY;
        if (!kernel->round_redoes) kernel->level_done = round_reached(kernel);
        edges_agree(kernel);
        bool missing = gather_redo(kernel);
        gather_found(kernel);
        if (failed(kernel)) return ADVANCED_MEMORY;
        if (missing) return ADVANCED_MISSES;
        if (kernel->quota < most) kernel->quota *= 2;
        if (now() > deadline) return ADVANCED_TIME;
    }
}

Advanced kernel_advance(Kernel *kernel, double seconds) {
    if (kernel->quota == 0) kernel->quota = QUOTA_FIRST;
    if (kernel->redo.length == 0 && kernel->level_done == kernel->level_size) {
        if (!level_next(kernel)) return ADVANCED_DONE;
        kernel->depth++;
    }
    return rounds(kernel, now() + seconds);
}

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
#define QUOTA_LAST 16384

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

/* Begin the next states of the worker's own lane, or of another one; false if there are none left. */
static bool take_block(const Worker *worker, uint32_t *lane, size_t *from, size_t *to) {
    const Kernel *kernel = worker->kernel;
    const size_t block = kernel->shared_from < BLOCK ? 1 : BLOCK;
    for (uint32_t n = 0, mine = (uint32_t)(worker - kernel->workers); n < kernel->threads; n++) {
        *lane = mine + n < kernel->threads ? mine + n : mine + n - kernel->threads;
        Lane *there = &kernel->lanes[*lane];
        if (atomic_load_explicit(&there->cursor, memory_order_relaxed) >= there->end) continue;
        *from = atomic_fetch_add_explicit(&there->cursor, block, memory_order_relaxed);
        *to = *from + block < there->end ? *from + block : there->end;
        if (*from < *to) return true;
    }
    return false;
}

static void expand_block(Worker *worker, uint32_t lane, size_t from, size_t to) {
    const Kernel *kernel = worker->kernel;
    const uint32_t *redo = kernel->redo.data;
    for (size_t item = from; item < to && !worker->failed; item++) {
        uint32_t state = kernel->round_redoes ? redo[item] : (uint32_t)(item * kernel->threads + lane);
        if (expand(worker, state)) {
            if (kernel->mode == MODE_LAST_LEVEL) worker->could_go_on |= worker->steps.length > 0;
            else if (!commit_steps(worker)) worker->failed = true;
            continue;
        }
        if (!vector_reserve(&worker->redo, sizeof(uint32_t), worker->redo.length + 1)) worker->failed = true;
        else ((uint32_t *)worker->redo.data)[worker->redo.length++] = state;
    }
}

static void round_expand(Worker *worker) {
    Kernel *kernel = worker->kernel;
    size_t batch = BATCH * (kernel->layout.words + 2), from, to;
    uint32_t lane;
    expand_afresh(worker);
    if (worker->edges.are_noted) edges_settle(&worker->edges);
    while (!worker->failed && !atomic_load_explicit(&kernel->enough, memory_order_relaxed) && take_block(worker, &lane, &from, &to)) {
        expand_block(worker, lane, from, to);
        bool is_crowded = worker->out.length >= batch && !worker_insert(worker);
        if (is_crowded || worker->redo.length >= ENOUGH) atomic_store_explicit(&kernel->enough, true, memory_order_relaxed);
    }
    worker_insert(worker);
}

/* How far a lane came: what was begun was finished, or put aside. */
static size_t lane_reached(const Lane *lane) {
    size_t cursor = atomic_load_explicit(&lane->cursor, memory_order_relaxed);
    return cursor < lane->end ? cursor : lane->end;
}

static void gather_progress(Kernel *kernel) {
    uint32_t *redo = kernel->redo.data;
    size_t left = 0, done = 0;
    for (uint32_t s = 0; s < kernel->threads; s++) {
        Shard *shard = &kernel->shards[s];
        size_t reached = lane_reached(&kernel->lanes[s]);
        if (!kernel->round_redoes) shard->next = reached;
        for (size_t i = reached; kernel->round_redoes && i < kernel->lanes[s].end; i++) redo[left++] = redo[i];
        done += shard->next - shard->low;
    }
    kernel->redo.length = left;
    kernel->level_done = done;
}

/* Collect the states to be done again; true if there are any. */
static bool gather_redo(Kernel *kernel) {
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
    if (kernel->threads > 1 && count >= kernel->shared_from && crew_start(kernel)) crew_do(kernel, round_expand);
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
        Shard *shard = &kernel->shards[s];
        shard->low = shard->next = shard->high;
        shard->high = shard->count;
        kernel->level_size += shard->high - shard->low;
    }
    return kernel->level_size > 0;
}

/* Say what is to be done in the next round; how many states that are. */
static size_t round_plan(Kernel *kernel) {
    size_t waiting = kernel->redo.length, threads = kernel->threads, planned = 0;
    kernel->round_redoes = waiting > 0;
    for (size_t s = 0; s < threads; s++) {
        const Shard *shard = &kernel->shards[s];
        size_t left = shard->high - shard->next;
        size_t from = waiting ? waiting * s / threads : shard->next;
        size_t to = waiting ? waiting * (s + 1) / threads : from + (left < kernel->quota ? left : kernel->quota);
        atomic_store_explicit(&kernel->lanes[s].cursor, from, memory_order_relaxed);
        kernel->lanes[s].end = to;
        planned += to - from;
    }
    atomic_store(&kernel->enough, false);
    return planned;
}

static Advanced rounds(Kernel *kernel, double deadline) {
    for (;;) {
        size_t planned = round_plan(kernel);
        if (planned == 0) return ADVANCED_LEVEL;
        if (!round_run(kernel, planned)) return ADVANCED_MEMORY;
        gather_progress(kernel);
        edges_agree(kernel);
        bool missing = gather_redo(kernel);
        gather_found(kernel);
        if (failed(kernel)) return ADVANCED_MEMORY;
        if (missing) return ADVANCED_MISSES;
        if (kernel->quota < QUOTA_LAST) kernel->quota *= 2;
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

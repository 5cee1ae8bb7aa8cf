/* Breadth-first search in rounds. In the first half of a round each thread expands states of the level and sorts their
 * successors by the shard that they belong to; in the second half each thread inserts into its own shard. A state with
 * a step that is not known yet is put aside as a whole, and done again once Python has told what the step does.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 64
#define QUOTA_FIRST 32
#define QUOTA_PER_THREAD 32768
#define MISSES_PER_ROUND 1024
#define ALONE_BELOW 2048
#define FAR 16
#define NEAR 6

static inline Instance *instances(const Kernel *kernel) { return kernel->tries.instances.data; }

/* ---- dispatch ---- */

void dispatch_free(Dispatch *dispatch) {
    Group *groups = dispatch->groups.data;
    for (size_t i = 0; i < dispatch->groups.length; i++) {
        free(groups[i].offsets);
        free(groups[i].candidates);
    }
    vector_free(&dispatch->groups);
    vector_free(&dispatch->ungrouped);
}

static bool group_fill(const Kernel *kernel, Group *group, const Candidate *members, size_t count) {
    const Node *nodes = kernel->tries.nodes.data;
    uint32_t values = 0;
    for (size_t i = 0; i < count; i++) {
        const Node *root = &nodes[members[i].child];
        for (uint32_t at = 0; at < root->capacity; at++) {
            if (root->children[at] == CHILD_MISSING) continue;
            uint32_t value = root->keys ? root->keys[at] - 1 : at;
            if (value >= values) values = value + 1;
        }
    }
    group->values = values;
    group->offsets = malloc((values + 2) * sizeof *group->offsets);
    group->candidates = malloc((values + 1) * count * sizeof *group->candidates);
    if (group->offsets == NULL || group->candidates == NULL) return false;
    uint32_t filled = 0;
    for (uint32_t value = 0; value <= values; value++) {
        group->offsets[value] = filled;
        for (size_t i = 0; i < count; i++) {
            Candidate candidate = members[i];
            candidate.child = value < values ? tries_child(&kernel->tries, candidate.child, value) : CHILD_MISSING;
            if (candidate.child != candidate.idle) group->candidates[filled++] = candidate;
        }
    }
    group->offsets[values + 1] = filled;
    Candidate *fitted = realloc(group->candidates, (filled ? filled : 1) * sizeof *fitted);
    if (fitted != NULL) group->candidates = fitted;
    return true;
}

/* The slot that an instance reads first, or -1. */
static int32_t first_slot(const Kernel *kernel, const Candidate *candidate) {
    if (candidate->child <= 0) return -1;
    const Instance *instance = &instances(kernel)[candidate->instance];
    const Node *node = (const Node *)kernel->tries.nodes.data + candidate->child;
    if (node->kind != NODE_READ) return -1;
    int32_t ref = node->ref < 0 ? instance->binding[-1 - node->ref] : node->ref;
    return ref < REF_AFTER ? ref : -1;
}

/* Sort `all` into groups by first slot; those without one are walked in every state. */
static bool dispatch_make(const Kernel *kernel, Dispatch *dispatch, const Candidate *all, size_t count) {
    dispatch_free(dispatch);
    uint32_t slots = kernel->layout.slots;
    uint32_t *starts = calloc(slots + 2, sizeof *starts);
    Candidate *sorted = malloc((count + 1) * sizeof *sorted);
    bool done = starts != NULL && sorted != NULL && vector_reserve(&dispatch->ungrouped, sizeof(Candidate), count + 1);
    for (size_t i = 0; done && i < count; i++) {
        int32_t slot = first_slot(kernel, &all[i]);
        if (slot >= 0) starts[slot + 1]++;
        else if (all[i].child != all[i].idle) ((Candidate *)dispatch->ungrouped.data)[dispatch->ungrouped.length++] = all[i];
    }
    for (uint32_t slot = 0; done && slot <= slots; slot++) starts[slot + 1] += starts[slot];
    for (size_t i = 0; done && i < count; i++) {
        int32_t slot = first_slot(kernel, &all[i]);
        if (slot >= 0) sorted[starts[slot]++] = all[i];
    }
    for (uint32_t slot = 0, from = 0; done && slot < slots; from = starts[slot++]) {
        if (starts[slot] == from) continue;
        done = vector_reserve(&dispatch->groups, sizeof(Group), dispatch->groups.length + 1);
        if (!done) break;
        Group *group = (Group *)dispatch->groups.data + dispatch->groups.length++;
        *group = (Group){.slot = slot};
        done = group_fill(kernel, group, sorted + from, starts[slot] - from);
    }
    free(starts);
    free(sorted);
    return done;
}

bool dispatches_rebuild(Kernel *kernel) {
    const int32_t *roots = kernel->tries.roots.data;
    uint32_t actions = kernel->tries.actions;
    size_t watches = kernel->watches.length, most = actions > watches ? actions : watches, open = 0;
    Candidate *all = malloc((most + 1) * sizeof *all);
    if (all == NULL) return false;
    for (uint32_t i = 0; i < actions; i++) all[i] = (Candidate){i, roots[instances(kernel)[i].trie], 0, CHILD_FALSE};
    bool done = dispatch_make(kernel, &kernel->dispatch, all, actions);
    for (uint32_t i = 0; i < watches; i++) {
        const Watch *watch = (const Watch *)kernel->watches.data + i;
        if (kernel->settled[watch->finding]) continue;
        uint32_t instance = actions + watch->predicate;
        int32_t idle = watch->wanted ? CHILD_FALSE : CHILD_TRUE;
        all[open++] = (Candidate){instance, roots[instances(kernel)[instance].trie], i, idle};
    }
    done = done && dispatch_make(kernel, &kernel->lookout, all, open);
    free(all);
    kernel->tries.roots_changed = false;
    return done;
}

/* In which bits of a packed state each instance was ever seen to be interested. */
bool reads_rebuild(Kernel *kernel) {
    size_t count = kernel->tries.instances.length;
    uint32_t words = kernel->layout.words;
    uint64_t *reads = realloc(kernel->reads, (count + 1) * words * sizeof *reads);
    uint64_t *slots = malloc((count + 1) * sizeof *slots);
    if (reads) kernel->reads = reads;
    if (reads == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    memset(reads, 0, count * words * sizeof *reads);
    tries_reads(&kernel->tries, slots);
    for (size_t i = 0; i < count; i++)
        for (uint32_t slot = 0; slot < kernel->layout.slots; slot++) {
            const Field *field = &kernel->layout.fields[slot];
            if (slots[i] & SLOT_BIT(slot)) reads[i * words + field->word] |= field->mask << field->shift;
        }
    free(slots);
    kernel->tries.reaches_changed = false;
    return true;
}

/* ---- workers ---- */

bool workers_make(Kernel *kernel) {
    uint32_t slots = kernel->layout.slots + 1, words = kernel->layout.words;
    if (kernel->workers == NULL) {
        kernel->workers = calloc(kernel->threads, sizeof *kernel->workers);
        if (kernel->workers == NULL) return false;
    }
    for (uint32_t i = 0; i < kernel->threads; i++) {
        Worker *worker = &kernel->workers[i];
        worker->kernel = kernel;
        worker->before = realloc(worker->before, slots * sizeof(uint32_t));
        worker->after = realloc(worker->after, slots * sizeof(uint32_t));
        worker->scratch = realloc(worker->scratch, 2 * slots * sizeof(uint32_t));
        worker->words = realloc(worker->words, words * sizeof(uint64_t));
        worker->changed = realloc(worker->changed, words * sizeof(uint64_t));
        free(worker->recalled);
        worker->recalled = calloc(kernel->predicates + 1, sizeof(uint64_t));
        worker->lately = realloc(worker->lately, (size_t)LATELY * words * sizeof(uint64_t));
        free(worker->is_lately);
        worker->is_lately = calloc(LATELY, 1);
        worker->stamp = 0;
        if (worker->out == NULL) worker->out = calloc(kernel->threads, sizeof(Vector));
        if (worker->taken == NULL) worker->taken = calloc(kernel->tries.actions + 1, sizeof(uint64_t));
        if (worker->found == NULL) {
            worker->found = calloc(kernel->findings, sizeof(Found));
            for (uint32_t f = 0; worker->found && f < kernel->findings; f++) worker->found[f].state = NO_STATE;
        }
        if (!worker->lately || !worker->is_lately || !worker->before || !worker->after || !worker->scratch || !worker->words || !worker->changed || !worker->recalled ||
            !worker->out || !worker->taken || !worker->found)
            return false;
    }
    return true;
}

void workers_free(Kernel *kernel) {
    for (uint32_t i = 0; kernel->workers && i < kernel->threads; i++) {
        Worker *worker = &kernel->workers[i];
        for (uint32_t s = 0; worker->out && s < kernel->threads; s++) vector_free(&worker->out[s]);
        for (uint32_t f = 0; worker->found && f < kernel->findings; f++) free(worker->found[f].after);
        free(worker->before);
        free(worker->after);
        free(worker->scratch);
        free(worker->words);
        free(worker->changed);
        free(worker->recalled);
        free(worker->lately);
        free(worker->is_lately);
        free(worker->out);
        free(worker->taken);
        free(worker->found);
        vector_free(&worker->steps);
        vector_free(&worker->labels);
        vector_free(&worker->owners);
        vector_free(&worker->missed);
        vector_free(&worker->redo);
        vector_free(&worker->targets);
        vector_free(&worker->actions);
    }
    free(kernel->workers);
    kernel->workers = NULL;
}

static void note_miss(Worker *worker, uint32_t instance, const uint32_t *before, const uint32_t *after) {
    worker->missed_here = true;
    uint32_t slots = worker->kernel->layout.slots;
    size_t size = 2 + (size_t)slots * (after ? 2 : 1);
    Vector *missed = &worker->missed;
    if (missed->length > (size_t)MISSES_PER_ROUND * (2 + slots)) return;
    if (!vector_reserve(missed, sizeof(uint32_t), missed->length + size)) {
        worker->failed = true;
        return;
    }
    uint32_t *record = (uint32_t *)missed->data + missed->length;
    record[0] = instance;
    record[1] = after != NULL;
    memcpy(record + 2, before, slots * sizeof(uint32_t));
    if (after) memcpy(record + 2 + slots, after, slots * sizeof(uint32_t));
    missed->length += size;
}

/* In one level, a state that decides something is one step nearer than a step that does. */
static bool is_better(const Found *known, uint32_t state, bool is_step) {
    if (known->state == NO_STATE) return true;
    return is_step == (known->after != NULL) ? state < known->state : !is_step;
}

static void note_found(Worker *worker, uint32_t finding, uint32_t action, const uint32_t *after) {
    Found *found = &worker->found[finding];
    if (!is_better(found, worker->state, after != NULL)) return;
    found->state = worker->state;
    found->action = action;
    free(found->after);
    found->after = NULL;
    if (after == NULL) return;
    size_t size = worker->kernel->layout.slots * sizeof(uint32_t);
    found->after = malloc(size ? size : 1);
    if (found->after) memcpy(found->after, after, size);
    else worker->failed = true;
}

/* ---- expanding a state ---- */

void kernel_canonical(const Kernel *kernel, uint32_t *values, uint32_t *scratch) {
    const Columns *all = kernel->symmetry.data;
    for (size_t i = 0; i < kernel->symmetry.length; i++) {
        uint32_t keys = all[i].keys, width = all[i].width;
        const uint32_t *slots = all[i].slots;
        for (uint32_t key = 1; key < keys; key++) { /* insertion sort of the columns */
            for (uint32_t n = 0; n < width; n++) scratch[n] = values[slots[key * width + n]];
            uint32_t at = key;
            for (; at > 0; at--) {
                const uint32_t *left = slots + (at - 1) * width;
                int order = 0;
                for (uint32_t n = 0; n < width && !order; n++)
                    order = (values[left[n]] > scratch[n]) - (values[left[n]] < scratch[n]);
                if (order <= 0) break;
                for (uint32_t n = 0; n < width; n++) values[slots[at * width + n]] = values[left[n]];
            }
            for (uint32_t n = 0; n < width; n++) values[slots[at * width + n]] = scratch[n];
        }
    }
}

static void judge_step(Worker *worker) {
    const Kernel *kernel = worker->kernel;
    const Vector *judges = &kernel->judges[worker->action];
    for (size_t i = 0; i < judges->length; i++) {
        const Watch *watch = (const Watch *)judges->data + i;
        if (kernel->settled[watch->finding]) continue;
        View view = {worker->before, worker->after, worker->recalled, worker->stamp, 0};
        Walked walked = walk_predicate(&kernel->tries, kernel->tries.actions + watch->predicate, &view);
        if (walked == WALK_MISS) {
            bool own = view.missed == kernel->tries.actions + watch->predicate;
            note_miss(worker, view.missed, worker->before, own ? worker->after : NULL);
        } else if ((uint8_t)walked == watch->wanted) {
            note_found(worker, watch->finding, worker->action, worker->after);
        }
    }
}

/* Whether the successor in worker->after is within the constraints; invariants hold outside too, so they are looked at. */
static bool within_constraints(Worker *worker) {
    const Kernel *kernel = worker->kernel;
    bool within = true;
    for (size_t i = 0; i < kernel->constraints.length; i++) {
        View view = {worker->after, NULL, NULL, 0, 0};
        Walked walked = evaluate(&kernel->tries, ((uint32_t *)kernel->constraints.data)[i], &view);
        if (walked == WALK_MISS) note_miss(worker, view.missed, worker->after, NULL);
        else if (walked == WALK_NO) within = false;
    }
    if (within || kernel->mode != MODE_EXPLORE) return within;
    for (size_t i = 0; i < kernel->watches.length; i++) {
        const Watch *watch = (const Watch *)kernel->watches.data + i;
        if (kernel->settled[watch->finding]) continue;
        View view = {worker->after, NULL, NULL, 0, 0};
        Walked walked = evaluate(&kernel->tries, watch->predicate, &view);
        if (walked == WALK_MISS) note_miss(worker, view.missed, worker->after, NULL);
        else if ((uint8_t)walked == watch->wanted) note_found(worker, watch->finding, worker->action, worker->after);
    }
    return false;
}

static bool take_step(void *context, uint32_t number) {
    Worker *worker = context;
    const Kernel *kernel = worker->kernel;
    uint32_t words = kernel->layout.words;
    const Leaf *leaf = (const Leaf *)kernel->tries.leaves.data + number;
    const Write *writes = (const Write *)kernel->tries.writes.data + leaf->first;
    const int32_t *binding = instances(kernel)[worker->action].binding;
    if (!vector_reserve(&worker->steps, sizeof(uint64_t), worker->steps.length + words) ||
        !vector_reserve(&worker->labels, sizeof(uint32_t), worker->labels.length + 1) ||
        !vector_reserve(&worker->owners, sizeof(uint32_t), worker->labels.length + 1)) {
        worker->failed = true;
        return false;
    }
    uint64_t *packed = (uint64_t *)worker->steps.data + worker->steps.length;
    uint64_t sum = worker->sum;
    uint32_t label = worker->action;
    copy_words(packed, worker->words, words);
    for (uint32_t i = 0; i < leaf->count; i++) {
        int32_t slot = writes[i].ref < 0 ? binding[-1 - writes[i].ref] : writes[i].ref;
        uint32_t value = writes[i].value & WRITE_COPY ? worker->before[writes[i].value ^ WRITE_COPY] : writes[i].value;
        layout_put(&kernel->layout, packed, (uint32_t)slot, value);
        if (kernel->threads > 1)
            sum += slot_weight((uint32_t)slot) * (uint64_t)((int64_t)value - (int64_t)worker->before[slot]);
    }
    bool judged = kernel->mode == MODE_EXPLORE && kernel->judges[worker->action].length;
    if (judged || kernel->constraints.length || kernel->symmetry.length) {
        layout_unpack(&kernel->layout, packed, worker->after);
        if (judged) judge_step(worker);
        if (kernel->constraints.length && !within_constraints(worker)) label |= OUTSIDE_BIT;
        if (kernel->symmetry.length) {
            kernel_canonical(kernel, worker->after, worker->scratch);
            layout_pack(&kernel->layout, worker->after, packed);
            sum = weighted_sum(&kernel->layout, worker->after);
        }
    }
    worker->steps.length += words;
    ((uint32_t *)worker->owners.data)[worker->labels.length] = kernel->threads > 1 ? shard_of(sum, kernel->threads) : 0;
    ((uint32_t *)worker->labels.data)[worker->labels.length++] = label;
    return true;
}

static inline void walk_candidate(Worker *worker, const Candidate *candidate) {
    const Kernel *kernel = worker->kernel;
    worker->action = worker->view.missed = candidate->instance;
    if (candidate->child != CHILD_MISSING) {
        Walked walked =
            walk_action(&kernel->tries, candidate->instance, candidate->child, &worker->view, take_step, worker);
        if (walked != WALK_MISS || worker->failed) return;
    }
    note_miss(worker, worker->view.missed, worker->before, NULL);
}

static inline bool reads_changes(const Kernel *kernel, uint32_t instance, const uint64_t *changed) {
    uint32_t words = kernel->layout.words;
    const uint64_t *reads = kernel->reads + (size_t)instance * words;
    for (uint32_t w = 0; w < words; w++)
        if (reads[w] & changed[w]) return true;
    return false;
}

/* Nothing was found in the state's predecessor, so a watch that reads nothing that changed finds nothing here. */
static inline void look_candidate(Worker *worker, const Candidate *candidate) {
    const Kernel *kernel = worker->kernel;
    if (worker->has_changes && !reads_changes(kernel, candidate->instance, worker->changed)) return;
    const Watch *watch = (const Watch *)kernel->watches.data + candidate->watch;
    Walked walked = walk_truth(&kernel->tries, candidate->instance, candidate->child, &worker->view);
    if (walked == WALK_MISS) note_miss(worker, worker->view.missed, worker->before, NULL);
    else if ((uint8_t)walked == watch->wanted) note_found(worker, watch->finding, NO_STATE, NULL);
}

/* Call `look` for the candidates that the state at hand does not rule out. */
static inline void each_candidate(Worker *worker, const Dispatch *dispatch, void (*look)(Worker *, const Candidate *)) {
    const Candidate *ungrouped = dispatch->ungrouped.data;
    for (size_t i = 0; i < dispatch->ungrouped.length; i++) look(worker, &ungrouped[i]);
    const Group *groups = dispatch->groups.data;
    for (size_t i = 0; i < dispatch->groups.length; i++) {
        const Group *group = &groups[i];
        uint32_t value = worker->before[group->slot];
        if (value > group->values) value = group->values;
        for (uint32_t at = group->offsets[value]; at < group->offsets[value + 1]; at++)
            look(worker, &group->candidates[at]);
    }
}

static void look_for_deadlock(Worker *worker) {
    const Kernel *kernel = worker->kernel;
    uint32_t finding = kernel->findings - 1;
    if (!kernel->check_deadlock || kernel->settled[finding] || worker->missed_here) return;
    for (size_t i = 0; i < kernel->terminal.length; i++) {
        View view = {worker->before, NULL, worker->recalled, worker->stamp, 0};
        Walked walked = evaluate(&kernel->tries, ((uint32_t *)kernel->terminal.data)[i], &view);
        if (walked == WALK_MISS) note_miss(worker, view.missed, worker->before, NULL);
        if (walked != WALK_NO) return;
    }
    note_found(worker, finding, NO_STATE, NULL);
}

/* The bits in which the state at hand differs from its predecessor; false where there is none that was looked at. */
static inline bool find_changes(Worker *worker, uint32_t state) {
    const Kernel *kernel = worker->kernel;
    uint32_t parent = kernel->shards[state % kernel->threads].parents[state / kernel->threads];
    if (parent == NO_STATE || parent / kernel->threads < kernel->shards[parent % kernel->threads].restored) return false;
    const uint64_t *before = state_words(kernel, parent);
    for (uint32_t w = 0; w < kernel->layout.words; w++) worker->changed[w] = worker->words[w] ^ before[w];
    return true;
}

bool expand(Worker *worker, uint32_t state) {
    const Kernel *kernel = worker->kernel;
    copy_words(worker->words, state_words(kernel, state), kernel->layout.words);
    layout_unpack(&kernel->layout, worker->words, worker->before);
    if (kernel->threads > 1) worker->sum = weighted_sum(&kernel->layout, worker->before);
    worker->state = state;
    worker->stamp++;
    worker->view = (View){worker->before, NULL, worker->recalled, worker->stamp, 0};
    worker->missed_here = false;
    worker->steps.length = worker->labels.length = 0;
    if (kernel->mode != MODE_GRAPH) {
        worker->has_changes = find_changes(worker, state);
        each_candidate(worker, &kernel->lookout, look_candidate);
    }
    each_candidate(worker, &kernel->dispatch, walk_candidate);
    if (kernel->mode == MODE_EXPLORE && worker->labels.length == 0) look_for_deadlock(worker);
    return !worker->missed_here && !worker->failed;
}

/* ---- a round ---- */

static bool commit_steps(Worker *worker) {
    const Kernel *kernel = worker->kernel;
    uint32_t words = kernel->layout.words;
    const uint64_t *packed = worker->steps.data;
    const uint32_t *labels = worker->labels.data;
    for (size_t i = 0; i < worker->labels.length; i++, packed += words) {
        worker->generated++;
        worker->taken[labels[i] & ~OUTSIDE_BIT]++;
        if (labels[i] & OUTSIDE_BIT) continue;
        uint64_t hash = hash_words(packed, words);
        size_t place = hash >> 20 & (LATELY - 1);
        uint64_t *lately = worker->lately + place * words;
        if (worker->is_lately[place] && same_state(lately, packed, words)) continue;
        copy_words(lately, packed, words);
        worker->is_lately[place] = 1;
        Vector *out = &worker->out[((uint32_t *)worker->owners.data)[i]];
        if (!vector_reserve(out, sizeof(uint64_t), out->length + words + 2)) return false;
        uint64_t *record = (uint64_t *)out->data + out->length;
        record[0] = hash;
        record[1] = worker->state;
        copy_words(record + 2, packed, words);
        out->length += words + 2;
    }
    return true;
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
    for (;;) {
        size_t from = atomic_fetch_add(&kernel->cursor, BLOCK);
        if (from >= kernel->round_end || worker->failed) return;
        size_t to = from + BLOCK < kernel->round_end ? from + BLOCK : kernel->round_end;
        for (size_t item = from; item < to && !worker->failed; item++) {
            uint32_t state = item_state(kernel, item);
            if (expand(worker, state)) {
                if (kernel->mode == MODE_LAST_LEVEL) worker->could_go_on |= worker->labels.length > 0;
                else if (!commit_steps(worker)) worker->failed = true;
                continue;
            }
            if (!vector_reserve(&worker->redo, sizeof(uint32_t), worker->redo.length + 1)) worker->failed = true;
            else ((uint32_t *)worker->redo.data)[worker->redo.length++] = state;
        }
    }
}

/* Ask early for what inserting will touch: the bucket of a record far ahead, the state behind one that is nearer. */
static inline void shard_prefetch(const Shard *shard, uint32_t words, const uint64_t *record, size_t stride, size_t left) {
    if (left > FAR) __builtin_prefetch(&shard->index[bucket_of(record[FAR * stride], shard->buckets)]);
    if (left > NEAR) {
        uint64_t entry = shard->index[bucket_of(record[NEAR * stride], shard->buckets)];
        if (entry) __builtin_prefetch(shard->states + (size_t)((uint32_t)entry - 1) * words);
    }
}

static void round_insert(Kernel *kernel, uint32_t owner) {
    uint32_t words = kernel->layout.words;
    Shard *shard = &kernel->shards[owner];
    for (uint32_t t = 0; t < kernel->threads; t++) {
        Vector *out = &kernel->workers[t].out[owner];
        const uint64_t *record = out->data;
        size_t stride = words + 2, count = out->length / stride;
        for (size_t i = 0; i < count; i++, record += stride) {
            if (shard->buckets) shard_prefetch(shard, words, record, stride, count - i);
            uint32_t local;
            if (shard_insert(shard, words, record + 2, record[0], (uint32_t)record[1], &local) < 0) {
                kernel->workers[owner].failed = true;
                return;
            }
        }
        out->length = 0;
    }
}

/* Collect the states to be done again; true if there are any. */
static bool gather_redo(Kernel *kernel) {
    if (kernel->round_redoes) kernel->redo.length = 0;
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

typedef struct {
    Worker *worker;
    uint32_t number;
} Hand;

static void *help(void *context) {
    Hand *hand = context;
    Kernel *kernel = hand->worker->kernel;
    pthread_mutex_lock(&kernel->gate); /* until every helper is there, or will not come */
    pthread_mutex_unlock(&kernel->gate);
    if (kernel->stop) return NULL;
    for (;;) {
        pthread_barrier_wait(&kernel->barrier);
        if (kernel->stop) return NULL;
        round_expand(hand->worker);
        pthread_barrier_wait(&kernel->barrier);
        round_insert(kernel, hand->number);
        pthread_barrier_wait(&kernel->barrier);
    }
}

static void round_run(Kernel *kernel, bool together) {
    if (together) pthread_barrier_wait(&kernel->barrier);
    round_expand(&kernel->workers[0]);
    if (together) pthread_barrier_wait(&kernel->barrier);
    for (uint32_t owner = 0; owner < (together ? 1 : kernel->threads); owner++) round_insert(kernel, owner);
    if (together) pthread_barrier_wait(&kernel->barrier);
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

static Advanced rounds(Kernel *kernel, double deadline, bool together) {
    size_t most = (size_t)QUOTA_PER_THREAD * kernel->threads;
    for (;;) {
        kernel->round_redoes = kernel->redo.length > 0;
        size_t left = kernel->level_size - kernel->level_done;
        if (!kernel->round_redoes && left == 0) return ADVANCED_LEVEL;
        size_t from = kernel->round_redoes ? 0 : kernel->level_done;
        size_t count = kernel->round_redoes ? kernel->redo.length : left < kernel->quota ? left : kernel->quota;
        atomic_store(&kernel->cursor, from);
        kernel->round_end = from + count;
        round_run(kernel, together);
        if (!kernel->round_redoes) kernel->level_done += count;
        bool missing = gather_redo(kernel);
        gather_found(kernel);
        if (failed(kernel)) return ADVANCED_MEMORY;
        if (missing) {
            if (kernel->quota > QUOTA_FIRST) kernel->quota /= 2;
            return ADVANCED_MISSES;
        }
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
    bool together = kernel->threads > 1 && kernel->level_size - kernel->level_done >= ALONE_BELOW;
    if (!together) return rounds(kernel, now() + seconds, false);
    pthread_t threads[kernel->threads];
    Hand hands[kernel->threads];
    uint32_t started = 1;
    if (pthread_barrier_init(&kernel->barrier, NULL, kernel->threads) != 0) return ADVANCED_MEMORY;
    kernel->stop = false;
    pthread_mutex_lock(&kernel->gate);
    for (; started < kernel->threads; started++) {
        hands[started] = (Hand){&kernel->workers[started], started};
        if (pthread_create(&threads[started], NULL, help, &hands[started]) != 0) break;
    }
    together = started == kernel->threads;
    kernel->stop = !together;
    pthread_mutex_unlock(&kernel->gate);
    Advanced advanced = rounds(kernel, now() + seconds, together);
    if (together) {
        kernel->stop = true;
        pthread_barrier_wait(&kernel->barrier);
    }
    for (uint32_t t = 1; t < started; t++) pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&kernel->barrier);
    return advanced;
}

/* ---- states ---- */

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

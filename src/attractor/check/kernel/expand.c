/* Expanding a state: every step out of it, and every watch on it. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

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
    const int32_t *binding = instances_of(&kernel->tries)[worker->action].binding;
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
        uint32_t value;
        if (!written_value(&kernel->tries, writes[i], (uint32_t)slot, worker->before, &value)) return false;
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

/* Expanding a state: every step out of it, and every watch on it.
 *
 * States that are expanded one after the other differ in few slots. So a thread remembers what each action did in the
 * state before, as bits to flip, and on which bits of the packed state that rests; an action that rests on nothing that
 * changed does the same again and is not walked. A watch that reads nothing that changed is not looked at.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

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
        View view = {worker->before, worker->after, worker->recalled, worker->stamp, 0, NULL, NULL};
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
        View view = {worker->after, NULL, NULL, 0, 0, NULL, NULL};
        Walked walked = evaluate(&kernel->tries, ((uint32_t *)kernel->constraints.data)[i], &view);
        if (walked == WALK_MISS) note_miss(worker, view.missed, worker->after, NULL);
        else if (walked == WALK_NO) within = false;
    }
    if (within || kernel->mode != MODE_EXPLORE) return within;
    for (size_t i = 0; i < kernel->watches.length; i++) {
        const Watch *watch = (const Watch *)kernel->watches.data + i;
        if (kernel->settled[watch->finding]) continue;
        View view = {worker->after, NULL, NULL, 0, 0, NULL, NULL};
        Walked walked = evaluate(&kernel->tries, watch->predicate, &view);
        if (walked == WALK_MISS) note_miss(worker, view.missed, worker->after, NULL);
        else if ((uint8_t)walked == watch->wanted) note_found(worker, watch->finding, worker->action, worker->after);
    }
    return false;
}

/* ---- steps ---- */

/* The list of a group that the state at hand leads to. */
static ALWAYS_INLINE uint32_t value_in(const Worker *worker, const Group *group) {
    if (group->slot == NO_SLOT) return 0;
    uint32_t value = worker->before[group->slot];
    return value < group->values ? value : group->values;
}

/* Remember one way to take the action that is walked: its number, and the bits that it flips. */
static bool remember_way(void *context, uint32_t number) {
    Worker *worker = context;
    const Kernel *kernel = worker->kernel;
    const Layout *layout = &kernel->layout;
    const Leaf *leaf = (const Leaf *)kernel->tries.leaves.data + number;
    const Write *writes = (const Write *)kernel->tries.writes.data + leaf->first;
    const int32_t *binding = instances_of(&kernel->tries)[worker->action].binding;
    const uint32_t *before = worker->before;
    Vector *ways = worker->ways;
    if (!vector_reserve(ways, STEP_BYTES(layout->words), ways->length + 1)) {
        worker->failed = true;
        return false;
    }
    uint64_t *way = (uint64_t *)ways->data + ways->length++ * STEP_WORDS(layout->words), *relies = worker->view.relies;
    way[0] = worker->action;
    for (uint32_t w = 0; w < layout->words; w++) way[1 + w] = 0;
    for (uint32_t i = 0; i < leaf->count; i++) {
        int32_t slot = writes[i].ref < 0 ? binding[-1 - writes[i].ref] : writes[i].ref;
        const Field *field = &layout->fields[slot];
        uint32_t value, old = before[slot];
        if (!written_value(&kernel->tries, writes[i], (uint32_t)slot, before, &value)) {
            ways->length--;
            return false;
        }
        if (writes[i].value & WRITE_COPY) rely_on_slot(relies, &layout->fields[writes[i].value ^ WRITE_COPY]);
        rely_on_slot(relies, field);
        way[1 + field->word] ^= (uint64_t)(value ^ old) << field->shift;
    }
    return true;
}

/* Look at one step closely: judge it, and find out what it leads to, within the constraints and up to symmetry. */
static void inspect_step(Worker *worker, uint64_t *step) {
    const Kernel *kernel = worker->kernel;
    worker->action = (uint32_t)step[0];
    layout_unpack(&kernel->layout, step + 1, worker->after);
    if (kernel->mode == MODE_EXPLORE) judge_step(worker);
    if (kernel->constraints.length && !within_constraints(worker)) step[0] |= OUTSIDE;
    if (kernel->symmetry.length) {
        kernel_canonical(kernel, worker->after, worker->scratch);
        layout_pack(&kernel->layout, worker->after, step + 1);
    }
}

static void inspect_steps(Worker *worker, uint64_t *step, size_t count) {
    const Kernel *kernel = worker->kernel;
    bool all = kernel->constraints.length || kernel->symmetry.length;
    for (size_t i = 0; i < count; i++, step += STEP_WORDS(kernel->layout.words))
        if (all || kernel->judges[step[0]].length) inspect_step(worker, step);
}

static ALWAYS_INLINE bool has_changed(const uint64_t *changed, const uint64_t *relies, uint32_t words) {
    for (uint32_t w = 0; w < words; w++)
        if (changed[w] & relies[w]) return true;
    return false;
}

static inline void walk_candidate(Worker *worker, const Candidate *candidate) {
    View *view = &worker->view;
    Walked walked = WALK_MISS;
    worker->action = view->missed = candidate->instance;
    if (candidate->child != CHILD_MISSING)
        walked = walk_action(&worker->kernel->tries, candidate->instance, candidate->child, view, remember_way, worker);
    if (walked == WALK_MISS && !worker->failed) note_miss(worker, view->missed, worker->before, NULL);
}

/* Find out anew what the actions of a group do. */
static ALWAYS_INLINE void walk_group(Worker *worker, const Group *group, Vector *ways, uint64_t *relies, uint32_t words) {
    uint32_t value = value_in(worker, group);
    bool missed_before = worker->missed_here;
    for (uint32_t w = 0; w < words; w++) relies[w] = 0;
    if (group->slot != NO_SLOT) rely_on_slot(relies, &worker->kernel->layout.fields[group->slot]);
    worker->ways = ways;
    ways->length = 0;
    worker->view.relies = relies;
    worker->missed_here = false;
    for (uint32_t at = group->offsets[value]; at < group->offsets[value + 1]; at++)
        walk_candidate(worker, &group->candidates[at]);
    worker->view.relies = NULL;
    if (worker->missed_here) relies[0] = UINT64_MAX;
    worker->missed_here |= missed_before;
}

/* The slot of a group, or the one behind the last, which has no bits. */
static ALWAYS_INLINE uint32_t own_slot(const Worker *worker, const Group *group) {
    return group->slot == NO_SLOT ? worker->kernel->layout.slots : group->slot;
}

/* Write the ways of a group as any of its kin would take them: without what is in their own slot. */
static void keep_ways(const Worker *worker, const Group *group, const Vector *ways, uint64_t *kept, uint32_t words) {
    const Field *field = &worker->kernel->layout.fields[own_slot(worker, group)];
    const Candidate *members = members_of(group);
    memset(kept, 0, UNASKED * STEP_BYTES(words));
    for (size_t n = 0; n < ways->length; n++, kept += STEP_WORDS(words)) {
        const uint64_t *way = (const uint64_t *)ways->data + n * STEP_WORDS(words);
        uint64_t rank = 0, flips = way[1 + field->word] >> field->shift & field->mask;
        while (members[rank].instance != way[0]) rank++;
        kept[0] = flips << 32 | rank;
        copy_words(kept + 1, way + 1, words);
        kept[1 + field->word] &= ~field->placed;
    }
}

/* The reverse of keep_ways. */
static ALWAYS_INLINE void use_ways(const Worker *worker, const Group *group, const uint64_t *kept, uint64_t *way,
                                   uint32_t words) {
    const Field *field = &worker->kernel->layout.fields[own_slot(worker, group)];
    const Candidate *members = members_of(group);
    for (size_t n = 0; n < UNASKED; n++, kept += STEP_WORDS(words), way += STEP_WORDS(words)) {
        uint64_t flips = kept[0] >> 32;
        way[0] = members[(uint32_t)kept[0]].instance;
        copy_words(way + 1, kept + 1, words);
        way[1 + (words == 1 ? 0 : field->word)] ^= flips << field->shift;
    }
}

/* What a group does, from the memo if it or one of its kin was there, otherwise found out and put there. */
static ALWAYS_INLINE void recall_group(Worker *worker, const Group *group, Vector *ways, uint64_t *relies, uint32_t words) {
    if (words > MEMO_WIDEST || group->masks == NULL) {
        walk_group(worker, group, ways, relies, words);
        return;
    }
    const Field *own = &worker->kernel->layout.fields[own_slot(worker, group)];
    const uint64_t value = value_in(worker, group), who = value << 24 | group->kin, *mask = group->masks + value * words;
    uint64_t touched[MEMO_WIDEST], hash = who, some = 0;
    for (uint32_t w = 0; w < words; w++) {
        some |= mask[w];
        touched[w] = worker->words[w] & mask[w] & ~(words == 1 || w == own->word ? own->placed : 0);
        hash = (hash ^ touched[w]) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 32;
    }
    uint64_t *record = worker->memo + (hash * 0x94D049BB133111EBull >> 40) % MEMO * MEMO_WORDS(words);
    if (some && record[0] >> 8 == who && same_state(record + 1, touched, words)) {
        use_ways(worker, group, record + 1 + words, ways->data, words);
        ways->length = record[0] & 0xFF;
        copy_words(relies, mask, words);
        return;
    }
    walk_group(worker, group, ways, relies, words);
    if (!some || worker->missed_here || ways->length > UNASKED) return;
    keep_ways(worker, group, ways, record + 1 + words, words);
    copy_words(record + 1, touched, words);
    record[0] = who << 8 | ways->length;
}

static ALWAYS_INLINE void take_step(const uint64_t *here, const uint64_t *way, uint64_t *step, uint32_t words) {
    step[0] = way[0];
    for (uint32_t w = 0; w < words; w++) step[1 + w] = here[w] ^ way[1 + w];
}

/* Take every step out of the state at hand. Most groups have two or fewer, so two are taken without a question. */
static ALWAYS_INLINE void all_steps(Worker *worker, uint32_t words) {
    const Kernel *kernel = worker->kernel;
    const Group *groups = kernel->dispatch.groups.data;
    const size_t count = kernel->dispatch.groups.length, stride = STEP_WORDS(words);
    uint64_t *relies = worker->relies.data, first = worker->words[0];
    const uint64_t *here = words == 1 ? &first : worker->words, *changed = worker->changed;
    Vector *recalls = worker->recalls.data;
    size_t length = 0;
    for (size_t i = 0; i < count; i++, relies += words) {
        Vector *ways = &recalls[i];
        if (has_changed(changed, relies, words)) recall_group(worker, &groups[i], ways, relies, words);
        const uint64_t *way = ways->data;
        if (!vector_reserve(&worker->steps, STEP_BYTES(words), length + ways->length + UNASKED)) {
            worker->failed = true;
            return;
        }
        uint64_t *step = (uint64_t *)worker->steps.data + length * stride;
        for (size_t n = 0; n < UNASKED; n++) take_step(here, way + n * stride, step + n * stride, words);
        for (size_t n = UNASKED; n < ways->length; n++) take_step(here, way + n * stride, step + n * stride, words);
        length += ways->length;
    }
    worker->steps.length = length;
    if (kernel->inspects) inspect_steps(worker, worker->steps.data, length);
}

/* ---- watches ---- */

static inline void look(Worker *worker, const Candidate *candidate) {
    const Kernel *kernel = worker->kernel;
    const Instance *instance = &instances_of(&kernel->tries)[candidate->instance];
    int32_t child = descend(&kernel->tries, instance, candidate->child, worker->before);
    if (child == candidate->idle) return;
    const Watch *watch = (const Watch *)kernel->watches.data + candidate->watch;
    Walked walked = walk_truth(&kernel->tries, candidate->instance, child, &worker->view);
    if (walked == WALK_MISS) note_miss(worker, worker->view.missed, worker->before, NULL);
    else if ((uint8_t)walked == watch->wanted) note_found(worker, watch->finding, NO_STATE, NULL);
}

/* Nothing was found in the state that this one follows, so a watch that reads nothing that changed finds nothing here. */
static inline void look_at_group(Worker *worker, const Group *group, uint32_t words) {
    const uint64_t *reads = worker->kernel->reads;
    uint32_t value = value_in(worker, group);
    for (uint32_t at = group->offsets[value]; at < group->offsets[value + 1]; at++) {
        const Candidate *candidate = &group->candidates[at];
        bool again = !worker->follows || has_changed(worker->changed, reads + (size_t)candidate->instance * words, words);
        if (again) look(worker, candidate);
    }
}

/* The place in `worker->clean` for the bits that watches read in the state at hand; NULL where they read too many. */
static ALWAYS_INLINE uint64_t *place_of_clean(const Worker *worker, uint64_t *bits, uint32_t words) {
    const uint64_t *mask = worker->kernel->watched;
    if (words > MEMO_WIDEST || mask[0] == UINT64_MAX) return NULL;
    uint64_t hash = 0;
    for (uint32_t w = 0; w < words; w++) {
        bits[w] = worker->words[w] & mask[w];
        hash = (hash ^ bits[w]) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 32;
    }
    return worker->clean + (hash * 0x94D049BB133111EBull >> 40) % CLEAN * words;
}

/* Look for findings, unless the bits that watches read were looked at lately. */
static ALWAYS_INLINE void all_watches(Worker *worker, uint32_t words) {
    const Kernel *kernel = worker->kernel;
    const Group *groups = kernel->lookout.groups.data;
    size_t quiet = kernel->lookout.quiet, count = kernel->lookout.groups.length;
    for (size_t i = 0; i < quiet; i++) {
        const Field *field = &kernel->layout.fields[groups[i].slot];
        if (!worker->follows || worker->changed[field->word] & field->placed) look_at_group(worker, &groups[i], words);
    }
    if (quiet == count) return;
    uint64_t bits[MEMO_WIDEST], *clean = place_of_clean(worker, bits, words);
    if (clean && same_state(clean, bits, words)) return;
    for (size_t i = quiet; i < count; i++) look_at_group(worker, &groups[i], words);
    if (clean && !worker->missed_here && !worker->found_here) copy_words(clean, bits, words);
}

static void look_for_deadlock(Worker *worker) {
    const Kernel *kernel = worker->kernel;
    uint32_t finding = kernel->findings - 1;
    if (!kernel->check_deadlock || kernel->settled[finding] || worker->missed_here) return;
    for (size_t i = 0; i < kernel->terminal.length; i++) {
        View view = {worker->before, NULL, worker->recalled, worker->stamp, 0, NULL, NULL};
        Walked walked = evaluate(&kernel->tries, ((uint32_t *)kernel->terminal.data)[i], &view);
        if (walked == WALK_MISS) note_miss(worker, view.missed, worker->before, NULL);
        if (walked != WALK_NO) return;
    }
    note_found(worker, finding, NO_STATE, NULL);
}

/* ---- the state at hand ---- */

/* Take up a state: what changed since the one expanded last, and what its slots hold. */
static inline void take_up(Worker *worker, uint32_t state, uint32_t words) {
    const Layout *layout = &worker->kernel->layout;
    const uint64_t *now = state_words(worker->kernel, state);
    for (uint32_t w = 0; w < words; w++) {
        uint64_t rest = now[w] ^ worker->words[w];
        worker->words[w] = now[w];
        worker->changed[w] = worker->follows ? rest : UINT64_MAX;
        while (rest) {
            uint32_t slot = layout->slot_at[w * 64 + (uint32_t)__builtin_ctzll(rest)];
            const Field *field = &layout->fields[slot];
            uint32_t value = (uint32_t)(now[w] >> field->shift & field->mask);
            worker->before[slot] = value;
            rest &= ~field->placed;
        }
    }
}

static ALWAYS_INLINE void expand_words(Worker *worker, uint32_t state, uint32_t words) {
    const Kernel *kernel = worker->kernel;
    take_up(worker, state, words);
    worker->state = state;
    worker->stamp++;
    worker->view = (View){worker->before, NULL, worker->recalled, worker->stamp, 0, NULL, kernel};
    worker->missed_here = worker->found_here = false;
    worker->steps.length = 0;
    if (kernel->mode != MODE_GRAPH) all_watches(worker, words);
    all_steps(worker, words);
}

void expand_afresh(Worker *worker) {
    const Kernel *kernel = worker->kernel;
    uint32_t words = kernel->layout.words;
    size_t groups = kernel->dispatch.groups.length, known = worker->recalls.length;
    bool enough = vector_reserve(&worker->relies, sizeof(uint64_t), (groups + 1) * words) &&
                  vector_reserve(&worker->recalls, sizeof(Vector), groups + 1);
    Vector *recalls = worker->recalls.data;
    if (enough && known < groups) memset(recalls + known, 0, (groups - known) * sizeof *recalls);
    if (enough && known < groups) worker->recalls.length = groups;
    for (size_t i = 0; enough && i < groups; i++) enough = vector_reserve(&recalls[i], STEP_BYTES(words), UNASKED);
    if (!enough) {
        worker->failed = true;
        return;
    }
    memset(worker->relies.data, 0xFF, groups * words * sizeof(uint64_t));
    if (worker->memo && worker->memo_epoch != kernel->epoch) {
        memset(worker->memo, 0xFF, MEMO * MEMO_WORDS(words) * sizeof(uint64_t));
        memset(worker->clean, 0xFF, CLEAN * words * sizeof(uint64_t));
    }
    worker->memo_epoch = kernel->epoch;
    memset(worker->words, 0, words * sizeof(uint64_t));
    memset(worker->before, 0, kernel->layout.slots * sizeof(uint32_t));
    worker->follows = false;
}

bool expand(Worker *worker, uint32_t state) {
    const Kernel *kernel = worker->kernel;
    if (kernel->layout.words == 1) expand_words(worker, state, 1);
    else expand_words(worker, state, kernel->layout.words);
    if (kernel->mode == MODE_EXPLORE && worker->steps.length == 0) look_for_deadlock(worker);
    worker->follows = !worker->missed_here && !worker->found_here;
    return !worker->missed_here && !worker->failed;
}

/* Which actions and watches a state calls for: instances grouped by the slot that they read first, so that the value
 * of that slot rules out most of them at once; and which bits of a state an instance can depend on at all.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

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
    const Instance *instance = &instances_of(&kernel->tries)[candidate->instance];
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
    for (uint32_t i = 0; i < actions; i++) all[i] = (Candidate){i, roots[instances_of(&kernel->tries)[i].trie], 0, CHILD_FALSE};
    bool done = dispatch_make(kernel, &kernel->dispatch, all, actions);
    for (uint32_t i = 0; i < watches; i++) {
        const Watch *watch = (const Watch *)kernel->watches.data + i;
        if (kernel->settled[watch->finding]) continue;
        uint32_t instance = actions + watch->predicate;
        int32_t idle = watch->wanted ? CHILD_FALSE : CHILD_TRUE;
        all[open++] = (Candidate){instance, roots[instances_of(&kernel->tries)[instance].trie], i, idle};
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

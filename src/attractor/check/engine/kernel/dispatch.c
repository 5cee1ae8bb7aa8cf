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
        free(groups[i].masks);
    }
    vector_free(&dispatch->groups);
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
    if (node->ref >= REF_CHOICE) return -1;
    int32_t ref = node->ref < 0 ? instance->binding[-1 - node->ref] : node->ref;
    return ref < REF_AFTER ? ref : -1;
}

static bool add_group(const Kernel *kernel, Dispatch *dispatch, uint32_t slot, const Candidate *members, size_t count) {
    if (!vector_reserve(&dispatch->groups, sizeof(Group), dispatch->groups.length + 1)) return false;
    Group *group = (Group *)dispatch->groups.data + dispatch->groups.length++;
    *group = (Group){.slot = slot};
    if (slot != NO_SLOT) return group_fill(kernel, group, members, count);
    group->offsets = calloc(2, sizeof *group->offsets);
    group->candidates = malloc(sizeof *group->candidates);
    if (group->offsets == NULL || group->candidates == NULL) return false;
    group->offsets[1] = 1;
    group->candidates[0] = *members;
    return true;
}

/* Whether so many bits are nearly all of a packed state. */
static bool is_nearly_all(const Kernel *kernel, const uint64_t *bits) {
    int touched = 0, used = 0;
    for (uint32_t w = 0; w < kernel->layout.words; w++) touched += __builtin_popcountll(bits[w]);
    for (uint32_t slot = 0; slot < kernel->layout.slots; slot++) used += kernel->layout.fields[slot].bits;
    return 4 * touched > 3 * used;
}

/* Add groups for the candidates that read `slot` first: one for those that touch nearly everything, whose outcomes never
 * return, and one for the others. */
static bool add_groups(const Kernel *kernel, Dispatch *dispatch, uint32_t slot, Candidate *members, size_t count) {
    size_t narrow = 0;
    for (size_t i = 0; i < count; i++) {
        Candidate member = members[i];
        if (kernel->reads && is_nearly_all(kernel, kernel->reads + (size_t)member.instance * kernel->layout.words)) continue;
        memmove(members + narrow + 1, members + narrow, (i - narrow) * sizeof *members);
        members[narrow++] = member;
    }
    return (narrow == 0 || add_group(kernel, dispatch, slot, members, narrow)) &&
           (narrow == count || add_group(kernel, dispatch, slot, members + narrow, count - narrow));
}

/* Sort `all` into groups by first slot, after those without one. */
static bool dispatch_make(const Kernel *kernel, Dispatch *dispatch, const Candidate *all, size_t count) {
    dispatch_free(dispatch);
    uint32_t slots = kernel->layout.slots;
    uint32_t *starts = calloc(slots + 2, sizeof *starts);
    Candidate *sorted = malloc((count + 1) * sizeof *sorted);
    bool done = starts != NULL && sorted != NULL;
    for (size_t i = 0; done && i < count; i++) {
        int32_t slot = first_slot(kernel, &all[i]);
        if (slot >= 0) starts[slot + 1]++;
        else if (all[i].child != all[i].idle) done = add_group(kernel, dispatch, NO_SLOT, &all[i], 1);
    }
    for (uint32_t slot = 0; done && slot <= slots; slot++) starts[slot + 1] += starts[slot];
    for (size_t i = 0; done && i < count; i++) {
        int32_t slot = first_slot(kernel, &all[i]);
        if (slot >= 0) sorted[starts[slot]++] = all[i];
    }
    for (uint32_t slot = 0, from = 0; done && slot < slots; from = starts[slot++])
        if (starts[slot] > from) done = add_groups(kernel, dispatch, slot, sorted + from, starts[slot] - from);
    free(starts);
    free(sorted);
    return done;
}

/* For each list of the group, what its actions touch, unless that is nearly everything: then it is 0. */
static bool group_masks(const Kernel *kernel, Group *group) {
    uint32_t words = kernel->layout.words, values = group->slot == NO_SLOT ? 0 : group->values;
    if (words > MEMO_WIDEST || values > MEMO) return true;
    group->masks = calloc((size_t)(values + 1) * words, sizeof *group->masks);
    if (group->masks == NULL) return false;
    for (uint32_t value = 0; value <= values; value++) {
        uint64_t *mask = group->masks + (size_t)value * words;
        if (group->slot != NO_SLOT) rely_on_slot(mask, &kernel->layout.fields[group->slot]);
        for (uint32_t at = group->offsets[value]; at < group->offsets[value + 1]; at++)
            for (uint32_t w = 0; w < words; w++) mask[w] |= kernel->reads[group->candidates[at].instance * words + w];
        if (is_nearly_all(kernel, mask)) memset(mask, 0, words * sizeof *mask);
    }
    return true;
}

/* Whether the members of this rank walk the same trie, bound alike but for the slots of their groups. */
static bool are_members_alike(const Tries *tries, const Group *one, const Group *other, uint32_t rank) {
    const Instance *mine = &instances_of(tries)[members_of(one)[rank].instance];
    const Instance *theirs = &instances_of(tries)[members_of(other)[rank].instance];
    if (mine->trie != theirs->trie || mine->bound != theirs->bound) return false;
    for (uint32_t i = 0; i < mine->bound; i++) {
        bool own = mine->binding[i] == (int32_t)one->slot && theirs->binding[i] == (int32_t)other->slot;
        if (!own && mine->binding[i] != theirs->binding[i]) return false;
    }
    return true;
}

/* Whether two groups differ in nothing but the slot that they read first: their members are alike, and beside the slot they
 * touch the same bits. A trie that named one of the two slots itself would touch it in the other group only. */
static bool are_kin(const Kernel *kernel, const Group *one, const Group *other) {
    uint32_t words = kernel->layout.words;
    if (one->slot == NO_SLOT || other->slot == NO_SLOT || one->values != other->values) return false;
    if (one->masks == NULL || other->masks == NULL) return false;
    if (memcmp(one->offsets, other->offsets, (one->values + 2) * sizeof *one->offsets) != 0) return false;
    const Field *mine = &kernel->layout.fields[one->slot], *theirs = &kernel->layout.fields[other->slot];
    if (mine->bits != theirs->bits) return false;
    uint32_t count = one->offsets[one->values + 1] - one->offsets[one->values];
    for (uint32_t i = 0; i < count; i++)
        if (!are_members_alike(&kernel->tries, one, other, i)) return false;
    for (size_t i = 0; i < (size_t)(one->values + 1) * words; i++) {
        uint64_t left = one->masks[i] & ~(i % words == mine->word ? mine->placed : 0);
        if (left != (other->masks[i] & ~(i % words == theirs->word ? theirs->placed : 0))) return false;
    }
    return true;
}

static void find_kin(const Kernel *kernel) {
    Group *groups = kernel->dispatch.groups.data;
    for (uint32_t i = 0; i < kernel->dispatch.groups.length; i++) {
        groups[i].kin = i;
        for (uint32_t k = 0; k < i && groups[i].kin == i; k++)
            if (groups[k].kin == k && are_kin(kernel, &groups[k], &groups[i])) groups[i].kin = k;
    }
}

/* Put the quiet groups first, and note what the watches of the others read. */
static bool lookout_arrange(Kernel *kernel) {
    uint32_t words = kernel->layout.words;
    Dispatch *lookout = &kernel->lookout;
    Group *groups = lookout->groups.data;
    uint64_t *watched = realloc(kernel->watched, words * sizeof *watched);
    if (watched == NULL) return false;
    kernel->watched = watched;
    memset(watched, 0, words * sizeof *watched);
    lookout->quiet = 0;
    for (size_t i = 0; i < lookout->groups.length; i++) {
        Group group = groups[i];
        if (group.slot != NO_SLOT && group.offsets[group.values] == 0) {
            groups[i] = groups[lookout->quiet];
            groups[lookout->quiet++] = group;
            continue;
        }
        if (group.slot != NO_SLOT) rely_on_slot(watched, &kernel->layout.fields[group.slot]);
        uint32_t lists = group.slot == NO_SLOT ? 1 : group.values + 1;
        for (uint32_t at = 0; at < group.offsets[lists]; at++)
            for (uint32_t w = 0; w < words; w++) watched[w] |= kernel->reads[group.candidates[at].instance * words + w];
    }
    return true;
}

bool dispatches_rebuild(Kernel *kernel) {
    const int32_t *roots = kernel->tries.roots.data;
    uint32_t actions = kernel->tries.actions;
    size_t watches = kernel->watches.length, most = actions > watches ? actions : watches, open = 0;
    Candidate *all = malloc((most + 1) * sizeof *all);
    if (all == NULL) return false;
    for (uint32_t i = 0; i < actions; i++) all[i] = (Candidate){i, roots[instances_of(&kernel->tries)[i].trie], 0, CHILD_FALSE};
    bool done = dispatch_make(kernel, &kernel->dispatch, all, actions);
    Group *groups = kernel->dispatch.groups.data;
    for (size_t i = 0; done && i < kernel->dispatch.groups.length; i++) done = group_masks(kernel, &groups[i]);
    if (done) find_kin(kernel);
    kernel->epoch++;
    for (uint32_t i = 0; i < watches; i++) {
        const Watch *watch = (const Watch *)kernel->watches.data + i;
        if (kernel->settled[watch->finding]) continue;
        uint32_t instance = actions + watch->predicate;
        int32_t idle = watch->wanted ? CHILD_FALSE : CHILD_TRUE;
        all[open++] = (Candidate){instance, roots[instances_of(&kernel->tries)[instance].trie], i, idle};
    }
    done = done && dispatch_make(kernel, &kernel->lookout, all, open) && lookout_arrange(kernel);
    free(all);
    kernel->tries.roots_changed = false;
    return done;
}

/* Which bits of a packed state each instance was ever seen to read or write. */
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
            if (slots[i] & SLOT_BIT(slot)) reads[i * words + field->word] |= field->placed;
        }
    free(slots);
    kernel->tries.reaches_changed = false;
    kernel->tries.roots_changed = true;
    return true;
}

/* Tries: what was learnt of each routine. A walk reads a state and never changes a trie; learning happens between walks. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define DENSE_LIMIT 64

bool vector_grow(Vector *vector, size_t element, size_t length) {
    size_t capacity = vector->capacity ? vector->capacity : 16;
    while (capacity < length) capacity += capacity / 2 + 1;
    void *data = realloc(vector->data, capacity * element);
    if (data == NULL) return false;
    vector->data = data;
    vector->capacity = capacity;
    return true;
}

void vector_free(Vector *vector) {
    free(vector->data);
    memset(vector, 0, sizeof *vector);
}

bool tries_init(Tries *tries) {
    memset(tries, 0, sizeof *tries);
    if (!vector_reserve(&tries->nodes, sizeof(Node), 1)) return false;
    memset(tries->nodes.data, 0, sizeof(Node));
    tries->nodes.length = 1;
    return true;
}

void tries_free(Tries *tries) {
    for (size_t i = 0; i < tries->nodes.length; i++) {
        free(nodes_of(tries)[i].keys);
        free(nodes_of(tries)[i].children);
    }
    for (size_t i = 0; i < tries->instances.length; i++) free(instances_of(tries)[i].binding);
    vector_free(&tries->nodes);
    vector_free(&tries->leaves);
    vector_free(&tries->writes);
    for (size_t i = 0; i < tries->reaches.length; i++) vector_free(&((Reach *)tries->reaches.data)[i].derived);
    vector_free(&tries->roots);
    vector_free(&tries->reaches);
    vector_free(&tries->forgotten);
    vector_free(&tries->instances);
    for (size_t i = 0; i < tries->updates.length; i++) vector_free((Vector *)tries->updates.data + i);
    vector_free(&tries->updates);
}

/* ---- what tries read ---- */

static bool reach_note(Tries *tries, uint32_t trie, int32_t ref) {
    Reach *reach = (Reach *)tries->reaches.data + trie;
    uint64_t slots = reach->slots, virtuals = reach->virtuals;
    if (ref < 0) reach->virtuals |= SLOT_BIT(-1 - ref);
    else if (ref < REF_AFTER) reach->slots |= SLOT_BIT(ref);
    else if (ref >= REF_CHOICE) return true;
    else if (!(ref & REF_DERIVED)) reach->slots = UINT64_MAX;
    tries->reaches_changed |= reach->slots != slots || reach->virtuals != virtuals;
    if (ref >= REF_AFTER && ref & REF_DERIVED) {
        uint32_t *known = reach->derived.data, predicate = (uint32_t)(ref ^ REF_DERIVED);
        for (size_t i = 0; i < reach->derived.length; i++)
            if (known[i] == predicate) return true;
        if (!vector_reserve(&reach->derived, sizeof predicate, reach->derived.length + 1)) return false;
        ((uint32_t *)reach->derived.data)[reach->derived.length++] = predicate;
        tries->reaches_changed = true;
    }
    return true;
}

static bool reach_writes(Tries *tries, uint32_t trie, int32_t child) {
    if (child > LEAF_FIRST) return true;
    const Leaf *leaf = (Leaf *)tries->leaves.data + LEAF_OF(child);
    for (uint32_t i = 0; i < leaf->count; i++) {
        const Write *write = (Write *)tries->writes.data + leaf->first + i;
        if (!reach_note(tries, trie, write->ref)) return false;
        if (write->value & WRITE_COPY && !reach_note(tries, trie, (int32_t)(write->value ^ WRITE_COPY))) return false;
    }
    return true;
}

bool tries_add(Tries *tries, uint32_t like) {
    if (!vector_reserve(&tries->roots, sizeof(int32_t), tries->roots.length + 1)) return false;
    if (!vector_reserve(&tries->reaches, sizeof(Reach), tries->reaches.length + 1)) return false;
    Reach *reach = (Reach *)tries->reaches.data + tries->reaches.length;
    memset(reach, 0, sizeof *reach);
    if (like != NO_TRIE) {
        const Reach *other = (Reach *)tries->reaches.data + like;
        size_t size = other->derived.length * sizeof(uint32_t);
        if (!vector_reserve(&reach->derived, sizeof(uint32_t), other->derived.length)) return false;
        if (size) memcpy(reach->derived.data, other->derived.data, size);
        reach->slots = other->slots;
        reach->virtuals = other->virtuals;
        reach->derived.length = other->derived.length;
    }
    ((int32_t *)tries->roots.data)[tries->roots.length++] = CHILD_MISSING;
    tries->reaches.length++;
    tries->roots_changed = tries->reaches_changed = true;
    return true;
}

void tries_reads(const Tries *tries, uint64_t *reads) {
    size_t count = tries->instances.length;
    for (size_t i = 0; i < count; i++) {
        const Instance *instance = &instances_of(tries)[i];
        const Reach *reach = (Reach *)tries->reaches.data + instance->trie;
        reads[i] = reach->slots;
        for (uint32_t v = 0; v < instance->bound; v++)
            if (reach->virtuals & SLOT_BIT(v))
                reads[i] |= instance->binding[v] < REF_AFTER ? SLOT_BIT(instance->binding[v]) : UINT64_MAX;
    }
    for (bool grew = true; grew;) { /* predicates that are read by others, which are read by others */
        grew = false;
        for (size_t i = 0; i < count; i++) {
            const Reach *reach = (Reach *)tries->reaches.data + instances_of(tries)[i].trie;
            uint64_t all = reads[i];
            for (size_t d = 0; d < reach->derived.length; d++)
                all |= reads[tries->actions + ((uint32_t *)reach->derived.data)[d]];
            grew |= all != reads[i];
            reads[i] = all;
        }
    }
}

int32_t tries_child(const Tries *tries, int32_t child, uint32_t value) {
    return child_at(&nodes_of(tries)[child], value);
}

/* ---- learning ---- */

static bool node_to_table(Tries *tries, Node *node, uint32_t capacity) {
    uint32_t *keys = calloc(capacity, sizeof *keys);
    int32_t *children = calloc(capacity, sizeof *children);
    if (keys == NULL || children == NULL) {
        free(keys);
        free(children);
        return false;
    }
    for (uint32_t i = 0; i < node->capacity; i++) {
        if (node->children[i] == CHILD_MISSING) continue;
        uint32_t value = node->keys ? node->keys[i] - 1 : i;
        uint32_t at = scatter(value) & (capacity - 1);
        while (keys[at]) at = (at + 1) & (capacity - 1);
        keys[at] = value + 1;
        children[at] = node->children[i];
    }
    tries->bytes -= (node->keys ? 8 : 4) * (size_t)node->capacity;
    free(node->keys);
    free(node->children);
    node->keys = keys;
    node->children = children;
    tries->bytes += 8 * (size_t)capacity;
    node->capacity = capacity;
    return true;
}

static bool node_grow_dense(Tries *tries, Node *node, uint32_t value) {
    uint32_t capacity = node->capacity ? node->capacity : 4;
    while (capacity <= value) capacity += capacity / 2;
    int32_t *children = realloc(node->children, capacity * sizeof *children);
    if (children == NULL) return false;
    memset(children + node->capacity, 0, (capacity - node->capacity) * sizeof *children);
    tries->bytes += 4 * (size_t)(capacity - node->capacity);
    node->children = children;
    node->capacity = capacity;
    return true;
}

/* Set a child that is missing so far. */
static bool node_put(Tries *tries, Node *node, uint32_t value, int32_t child) {
    if (node->keys == NULL) {
        bool sparse = value >= DENSE_LIMIT && value / 8 > node->count;
        if (!sparse) {
            if (value >= node->capacity && !node_grow_dense(tries, node, value)) return false;
            node->children[value] = child;
            node->count++;
            return true;
        }
        uint32_t capacity = 16;
        while (capacity < 2 * (node->count + 1)) capacity *= 2;
        if (!node_to_table(tries, node, capacity)) return false;
    } else if (4 * (node->count + 1) > 3 * node->capacity) {
        if (!node_to_table(tries, node, 2 * node->capacity)) return false;
    }
    uint32_t mask = node->capacity - 1, at = scatter(value) & mask;
    while (node->keys[at]) at = (at + 1) & mask;
    node->keys[at] = value + 1;
    node->children[at] = child;
    node->count++;
    return true;
}

static int32_t new_node(Tries *tries, int32_t ref) {
    int32_t number;
    if (tries->forgotten.length) {
        number = ((int32_t *)tries->forgotten.data)[--tries->forgotten.length];
    } else {
        if (!vector_reserve(&tries->nodes, sizeof(Node), tries->nodes.length + 1)) return CHILD_MISSING;
        number = (int32_t)tries->nodes.length++;
        tries->bytes += sizeof(Node);
    }
    Node *node = &nodes_of(tries)[number];
    memset(node, 0, sizeof *node);
    node->ref = ref;
    return number;
}

int32_t tries_add_leaf(Tries *tries, const Write *writes, uint32_t count) {
    if (!vector_reserve(&tries->leaves, sizeof(Leaf), tries->leaves.length + 1)) return CHILD_MISSING;
    if (!vector_reserve(&tries->writes, sizeof(Write), tries->writes.length + count)) return CHILD_MISSING;
    Leaf *leaf = (Leaf *)tries->leaves.data + tries->leaves.length;
    leaf->first = (uint32_t)tries->writes.length;
    leaf->count = count;
    if (count) memcpy((Write *)tries->writes.data + leaf->first, writes, count * sizeof *writes);
    tries->writes.length += count;
    tries->bytes += sizeof *leaf + count * sizeof *writes;
    return CHILD_OF_LEAF(tries->leaves.length++);
}

static bool same_leaf(const Tries *tries, int32_t one, int32_t other) {
    if (one == other) return true;
    if (one > LEAF_FIRST || other > LEAF_FIRST) return false;
    const Leaf *a = (Leaf *)tries->leaves.data + LEAF_OF(one), *b = (Leaf *)tries->leaves.data + LEAF_OF(other);
    const Write *writes = tries->writes.data;
    return a->count == b->count && memcmp(writes + a->first, writes + b->first, a->count * sizeof *writes) == 0;
}

int tries_learn(Tries *tries, uint32_t trie, const int32_t *path, size_t steps, int32_t leaf) {
    int32_t parent = CHILD_MISSING;
    uint32_t value = 0;
    for (size_t i = 0; i <= steps; i++) {
        int32_t *root = (int32_t *)tries->roots.data + trie;
        int32_t here = parent ? child_at(&nodes_of(tries)[parent], value) : *root;
        bool is_leaf = i == steps;
        if (here != CHILD_MISSING) {
            if (is_leaf) return same_leaf(tries, here, leaf) ? 0 : 1;
            if (here < 0 || nodes_of(tries)[here].ref != path[2 * i]) return 1;
        } else {
            here = is_leaf ? leaf : new_node(tries, path[2 * i]);
            if (here == CHILD_MISSING) return -1;
            if (!(is_leaf ? reach_writes(tries, trie, leaf) : reach_note(tries, trie, path[2 * i]))) return -1;
            if (i <= 1) tries->roots_changed = true;
            if (parent == CHILD_MISSING) *((int32_t *)tries->roots.data + trie) = here;
            else if (!node_put(tries, &nodes_of(tries)[parent], value, here)) return -1;
        }
        if (is_leaf) break;
        parent = here;
        value = (uint32_t)path[2 * i + 1];
    }
    return 0;
}

static void forget_below(Tries *tries, int32_t child) {
    if (child <= 0) return;
    Node *node = &nodes_of(tries)[child];
    for (uint32_t i = 0; i < node->capacity; i++) forget_below(tries, node->children[i]);
    tries->bytes -= (node->keys ? 8 : 4) * (size_t)node->capacity;
    free(node->keys);
    free(node->children);
    memset(node, 0, sizeof *node);
    if (vector_reserve(&tries->forgotten, sizeof(int32_t), tries->forgotten.length + 1))
        ((int32_t *)tries->forgotten.data)[tries->forgotten.length++] = child;
}

void tries_forget(Tries *tries, uint32_t trie) {
    int32_t *root = (int32_t *)tries->roots.data + trie;
    forget_below(tries, *root);
    *root = CHILD_MISSING;
    tries->roots_changed = true;
}

bool tries_learn_update(Tries *tries, uint32_t update, uint32_t before, uint32_t after) {
    if (!vector_reserve(&tries->updates, sizeof(Vector), (size_t)update + 1)) return false;
    while (tries->updates.length <= update) ((Vector *)tries->updates.data)[tries->updates.length++] = (Vector){0};
    Vector *known = (Vector *)tries->updates.data + update;
    if (!vector_reserve(known, sizeof(uint32_t), (size_t)before + 1)) return false;
    while (known->length <= before) ((uint32_t *)known->data)[known->length++] = 0;
    ((uint32_t *)known->data)[before] = after + 1;
    return true;
}

/* ---- walking ---- */

static inline void rely_on_reads(uint64_t *relies, const Kernel *kernel, uint32_t instance) {
    uint32_t words = kernel->layout.words;
    const uint64_t *reads = kernel->reads + (size_t)instance * words;
    for (uint32_t w = 0; w < words; w++) relies[w] |= reads[w];
}

/* The number behind a reference; false where a predicate read as if it were a slot has no answer yet, or where there is
 * no state after. */
static inline bool number_behind(const Tries *tries, const Instance *instance, int32_t ref, View *view, uint32_t *number) {
    if (ref < 0) ref = instance->binding[-1 - ref];
    if (ref < REF_AFTER) {
        if (view->relies) rely_on_slot(view->relies, &view->kernel->layout.fields[ref]);
        *number = view->before[ref];
        return true;
    }
    if (ref & REF_DERIVED) {
        if (view->relies) rely_on_reads(view->relies, view->kernel, tries->actions + (uint32_t)(ref ^ REF_DERIVED));
        Walked walked = evaluate(tries, (uint32_t)(ref ^ REF_DERIVED), view);
        *number = walked == WALK_YES;
        return walked != WALK_MISS;
    }
    if (view->after == NULL) {
        view->missed = NO_INSTANCE;
        return false;
    }
    *number = view->after[ref ^ REF_AFTER];
    return true;
}

Walked walk_action(const Tries *tries, uint32_t number, int32_t child, View *view, LeafVisitor visit, void *context) {
    const Instance *instance = &instances_of(tries)[number];
    while (child > 0) {
        const Node *node = &nodes_of(tries)[child];
        if (node->ref >= REF_CHOICE) {
            Walked walked = WALK_NO;
            uint32_t ways = (uint32_t)(node->ref ^ REF_CHOICE);
            for (uint32_t way = 0; way < ways; way++) {
                Walked one = walk_action(tries, number, child_at(node, way), view, visit, context);
                if (one == WALK_MISS) return WALK_MISS;
                if (one == WALK_YES) walked = WALK_YES;
            }
            return walked;
        }
        uint32_t value;
        if (!number_behind(tries, instance, node->ref, view, &value)) return WALK_MISS;
        child = child_at(node, value);
    }
    if (child == CHILD_MISSING) {
        view->missed = number;
        return WALK_MISS;
    }
    if (child == CHILD_FALSE) return WALK_NO;
    if (!visit(context, LEAF_OF(child))) return WALK_MISS;
    return WALK_YES;
}

Walked walk_truth(const Tries *tries, uint32_t number, int32_t child, View *view) {
    const Instance *instance = &instances_of(tries)[number];
    while (child > 0) {
        const Node *node = &nodes_of(tries)[child];
        if (node->ref >= REF_CHOICE) {
            Walked walked = WALK_NO;
            uint32_t ways = (uint32_t)(node->ref ^ REF_CHOICE);
            for (uint32_t way = 0; way < ways; way++) {
                Walked one = walk_truth(tries, number, child_at(node, way), view);
                if (one == WALK_MISS) return WALK_MISS;
                if (one == WALK_YES) walked = WALK_YES;
            }
            return walked;
        }
        uint32_t value;
        if (!number_behind(tries, instance, node->ref, view, &value)) return WALK_MISS;
        child = child_at(node, value);
    }
    if (child == CHILD_MISSING) {
        view->missed = number;
        return WALK_MISS;
    }
    return child == CHILD_TRUE ? WALK_YES : WALK_NO;
}

Walked walk_predicate(const Tries *tries, uint32_t number, View *view) {
    return walk_truth(tries, number, ((int32_t *)tries->roots.data)[instances_of(tries)[number].trie], view);
}

Walked evaluate(const Tries *tries, uint32_t predicate, View *view) {
    if (view->recalled && view->recalled[predicate] >> 1 == view->stamp) return (Walked)(view->recalled[predicate] & 1);
    Walked walked = walk_predicate(tries, tries->actions + predicate, view);
    if (view->recalled && walked != WALK_MISS) view->recalled[predicate] = view->stamp << 1 | (uint64_t)walked;
    return walked;
}

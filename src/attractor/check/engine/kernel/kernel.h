/* The native engine: tries that remember steps, a table of packed states, threads that walk the one over the
 * other, and fair cycles on the resulting graph. Python fills the tries; the hot loops never call it.
 *
 * Reading order: trie.c (what a step does), table.c (which states are known), dispatch.c (which steps a state calls
 * for), worker.c (what a thread has at hand), expand.c (every step out of a state), rounds.c (breadth-first search), crew.c,
 * edges.c (noted on the way), states.c (all states together), pages.c (where large arrays lie), graph.c (edges, components, lassos), module.c (what Python
 * sees).
 */
#ifndef ATTRACTOR_KERNEL_H
#define ATTRACTOR_KERNEL_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/types.h>

#define REF_AFTER (1 << 24)
#define REF_DERIVED (1 << 25)
#define REF_CHOICE (1 << 26)
#define WRITE_UPDATE (1u << 29)
#define WRITE_COPY (1u << 30)

/* A child of a trie node: a node's number, or one of these, or a leaf of writes (LEAF_OF). */
#define CHILD_MISSING 0
#define CHILD_FALSE (-1)
#define CHILD_TRUE (-2)
#define LEAF_FIRST (-3)
#define LEAF_OF(child) ((uint32_t)(LEAF_FIRST - (child)))
#define CHILD_OF_LEAF(leaf) (LEAF_FIRST - (int32_t)(leaf))

#define NO_STATE 0xFFFFFFFFu
#define NO_TRIE 0xFFFFFFFFu
#define NO_SLOT 0xFFFFFFFFu
#define NO_INSTANCE 0xFFFFFFFFu

/* A growable array of bytes with a length in elements; memory errors are reported by the caller's return value. */
typedef struct {
    void *data;
    size_t length;
    size_t capacity;
} Vector;

bool vector_grow(Vector *vector, size_t element, size_t length);
static inline bool vector_reserve(Vector *vector, size_t element, size_t length) {
    return length <= vector->capacity || vector_grow(vector, element, length);
}
void vector_free(Vector *vector);

/* ---- pages.c -------------------------------------------------------------------------------------------------- */

/* Like realloc, for arrays that may become large; what was not there before has any content. NULL: out of memory, and what
 * was there stays. */
void *pages_resize(void *data, size_t size);
/* A new array of zeros. */
void *pages_zeroed(size_t size);
/* Zero the bytes [from, to) of an array that was never written: pages that come as zeros are only touched, by whoever calls. */
void pages_clear_fresh(void *data, size_t from, size_t to);
void pages_free(void *data);
/* Vectors of such arrays. */
bool large_grow(Vector *vector, size_t element, size_t length);
static inline bool large_reserve(Vector *vector, size_t element, size_t length) {
    return length <= vector->capacity || large_grow(vector, element, length);
}
void large_free(Vector *vector);

/* ---- trie.c --------------------------------------------------------------------------------------------------- */

/* A node branches on the value behind `ref`, or is a fork, all of whose children are taken: their number is then in
 * `ref`, with REF_CHOICE. Children are a plain array indexed by value while that is dense enough (`keys` is NULL),
 * otherwise an open-addressed table. */
typedef struct {
    int32_t ref;
    uint32_t count;
    uint32_t capacity;
    uint32_t *keys;
    int32_t *children;
} Node;

typedef struct {
    int32_t ref;    /* a slot, or a virtual reference */
    uint32_t value; /* or WRITE_COPY and a slot: what the state before holds there; or WRITE_UPDATE and an update of it */
} Write;

typedef struct {
    uint32_t first;
    uint32_t count;
} Leaf;

/* An action or predicate instance: which trie it walks, and what its virtual references mean. */
typedef struct {
    uint32_t trie;
    uint32_t bound;
    int32_t *binding;
} Instance;

/* What a trie was ever seen to read or write; it only grows, also while the trie itself is emptied. A slot is the bit of its
 * number modulo 64, so that a set bit may mean another slot, but a clear one means none. */
typedef struct {
    uint64_t slots;
    uint64_t virtuals; /* bit i: what an instance binds to virtual reference i */
    Vector derived;    /* uint32_t: predicates read as if they were slots */
} Reach;

#define SLOT_BIT(slot) (1ull << ((uint32_t)(slot) & 63))

typedef struct {
    Vector nodes;     /* Node; number 0 is not used */
    Vector leaves;    /* Leaf */
    Vector writes;    /* Write */
    Vector roots;     /* int32_t child, one for each trie */
    Vector reaches;   /* Reach, one for each trie */
    Vector forgotten; /* int32_t: nodes to be used again */
    Vector instances; /* Instance: actions first, then predicates */
    Vector updates;   /* Vector of uint32_t: for each value of a slot, 1 + what becomes of it; 0 is not known */
    uint32_t actions;
    size_t bytes;
    bool roots_changed;
    bool reaches_changed;
} Tries;

/* What a walk looks at: the state, the state after a step (or NULL), and remembered predicates of this state; and what
 * it leaves behind: who had no answer, and, where somebody asks, the bits of the packed state that it read. */
typedef struct {
    const uint32_t *before;
    const uint32_t *after;
    uint64_t *recalled; /* stamp << 1 | value for each predicate; NULL where the vectors change between walks */
    uint64_t stamp;
    uint32_t missed; /* the instance that had no answer; NO_INSTANCE: there is no state after that it asked for */
    uint64_t *relies; /* NULL: nobody asks */
    const struct Kernel *kernel; /* where `relies` is not NULL */
} View;

static inline Node *nodes_of(const Tries *tries) { return tries->nodes.data; }
static inline Instance *instances_of(const Tries *tries) { return tries->instances.data; }

typedef enum { WALK_MISS = -1, WALK_NO = 0, WALK_YES = 1 } Walked;

static inline uint32_t scatter(uint32_t value) {
    value *= 2654435761u;
    return value ^ (value >> 15);
}

static inline int32_t child_at(const Node *node, uint32_t value) {
    if (node->keys == NULL) return value < node->capacity ? node->children[value] : CHILD_MISSING;
    uint32_t mask = node->capacity - 1;
    for (uint32_t at = scatter(value) & mask;; at = (at + 1) & mask) {
        if (node->keys[at] == value + 1) return node->children[at];
        if (node->keys[at] == 0) return CHILD_MISSING;
    }
}

/* Follow the slots that a walk reads from `child` on: to its end, or to the first node that is not about a slot. */
static inline int32_t descend(const Tries *tries, const Instance *instance, int32_t child, const uint32_t *before) {
    while (child > 0) {
        const Node *node = &nodes_of(tries)[child];
        int32_t ref = node->ref < 0 ? instance->binding[-1 - node->ref] : node->ref;
        if (ref >= REF_AFTER) break;
        child = child_at(node, before[ref]);
    }
    return child;
}

typedef bool (*LeafVisitor)(void *context, uint32_t leaf);

bool tries_init(Tries *tries);
/* Add an empty trie; it is said to read at least what trie `like` reads, unless that is `NO_TRIE`. */
bool tries_add(Tries *tries, uint32_t like);
/* The slots that each instance was ever seen to read or write, as SLOT_BITs. */
void tries_reads(const Tries *tries, uint64_t *reads);
void tries_free(Tries *tries);
int32_t tries_child(const Tries *tries, int32_t child, uint32_t value);
/* 0: learnt; 1: it contradicts what is known; -1: out of memory. */
int tries_learn(Tries *tries, uint32_t trie, const int32_t *path, size_t steps, int32_t leaf);
int32_t tries_add_leaf(Tries *tries, const Write *writes, uint32_t count);
void tries_forget(Tries *tries, uint32_t trie);
bool tries_learn_update(Tries *tries, uint32_t update, uint32_t before, uint32_t after);
/* What a write puts into `slot`; false where it is an update that is not known for the value there. */
static inline bool written_value(const Tries *tries, Write write, uint32_t slot, const uint32_t *before, uint32_t *value) {
    *value = write.value;
    if (!(write.value & (WRITE_COPY | WRITE_UPDATE))) return true;
    if (write.value & WRITE_COPY) {
        *value = before[write.value ^ WRITE_COPY];
        return true;
    }
    uint32_t update = write.value ^ WRITE_UPDATE;
    if (update >= tries->updates.length) return false;
    const Vector *known = (const Vector *)tries->updates.data + update;
    if (before[slot] >= known->length) return false;
    *value = ((const uint32_t *)known->data)[before[slot]] - 1;
    return *value != UINT32_MAX;
}
/* Walk from `child`, calling `visit` for each leaf of writes; YES if there was one. */
Walked walk_action(const Tries *tries, uint32_t instance, int32_t child, View *view, LeafVisitor visit, void *context);
Walked walk_truth(const Tries *tries, uint32_t instance, int32_t child, View *view);
Walked walk_predicate(const Tries *tries, uint32_t instance, View *view);
Walked evaluate(const Tries *tries, uint32_t predicate, View *view);

/* ---- table.c -------------------------------------------------------------------------------------------------- */

typedef struct {
    uint16_t word;
    uint8_t shift;
    uint8_t bits;
    uint64_t mask;
    uint64_t placed; /* the mask where it lies in the word */
} Field;

/* Where each slot lies in a packed state of `words` 64-bit words. */
typedef struct {
    uint32_t slots;
    uint32_t words;
    Field *fields;
    uint32_t *slot_at; /* for each bit of each word, the slot that it belongs to */
} Layout;

/* Threads write to their own lines of memory, two of which may be fetched at once. */
#define APART 128

/* What one thread found: states in the order of their discovery, and their predecessors. */
typedef struct {
    _Alignas(APART) uint64_t *states;
    uint32_t *parents;
    uint64_t *repacked; /* while states are packed anew: where they go */
    size_t count;
    size_t reserved;
    size_t limit; /* so many states may be there at the end of the round; never more than reserved */
    size_t low;   /* the level being explored is [low, high) */
    size_t high;
    size_t next; /* the first of it that was not begun */
} Shard;

/* What a thread has to do in a round: so many states of its shard, or of those to be done again. Whoever has nothing left
 * takes from the others. */
typedef struct {
    _Alignas(APART) atomic_size_t cursor;
    size_t end;
} Lane;

/* Which states are known, whoever found them. A state is written first, then its entry, once; so whoever sees the entry
 * sees the state. While a round runs nothing else changes here, and no state moves. */
typedef struct {
    _Atomic uint64_t *entries; /* tag << 32 | number + 1, numbers interleaved; 0 is free */
    size_t buckets;
} Index;

/* Zeroed memory for structures of which each thread writes its own; `size` is a multiple of APART. */
void *calloc_apart(size_t count, size_t size);
bool layout_make(Layout *layout, const uint8_t *bits, uint32_t slots);
void layout_free(Layout *layout);
void layout_unpack(const Layout *layout, const uint64_t *words, uint32_t *values);
void layout_pack(const Layout *layout, const uint32_t *values, uint64_t *words);
static inline void layout_put(const Layout *layout, uint64_t *words, uint32_t slot, uint32_t value) {
    const Field *field = &layout->fields[slot];
    words[field->word] = (words[field->word] & ~field->placed) | ((uint64_t)value << field->shift);
}

static inline void rely_on_slot(uint64_t *relies, const Field *field) {
    relies[field->word] |= field->placed;
}

/* States are a word or few: a loop beats a call. */
static inline void copy_words(uint64_t *to, const uint64_t *from, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) to[i] = from[i];
}
static inline bool same_state(const uint64_t *one, const uint64_t *other, uint32_t words) {
    for (uint32_t i = 0; i < words; i++)
        if (one[i] != other[i]) return false;
    return true;
}
uint64_t hash_words(const uint64_t *words, uint32_t count);
/* The bucket comes from the hash's high bits, the tag from its low ones. */
static inline size_t bucket_of(uint64_t hash, size_t buckets) {
    return (size_t)(((unsigned __int128)hash * buckets) >> 64);
}
static inline size_t next_bucket(size_t at, size_t buckets) { return at + 1 == buckets ? 0 : at + 1; }
/* The entry whose tag is the hash's, or 0. */
static inline uint64_t index_probe(const Index *index, uint64_t hash) {
    uint64_t entry;
    for (size_t at = bucket_of(hash, index->buckets);; at = next_bucket(at, index->buckets)) {
        entry = atomic_load_explicit(&index->entries[at], memory_order_acquire);
        if (entry == 0 || (uint32_t)(entry >> 32) == (uint32_t)hash) return entry;
    }
}
/* Set a free entry. False if another thread was there first: `*there` is then what it set. */
static inline bool index_claim(_Atomic uint64_t *entry, uint64_t *there, uint64_t wanted, bool is_alone) {
    if (!is_alone) return atomic_compare_exchange_strong(entry, there, wanted);
    atomic_store_explicit(entry, wanted, memory_order_relaxed);
    return true;
}
/* An index of so many buckets, not written yet; false: out of memory. */
bool index_make(Index *index, size_t buckets);
bool shard_reserve(Shard *shard, uint32_t words, size_t states);
void shard_free(Shard *shard);
size_t shard_bytes(const Shard *shard, uint32_t words);

/* ---- the search -----------------------------------------------------------------------------------------------  */

/* Instances grouped by the slot that they read first: for each value of the slot, those that it does not rule out: an
 * action that it disables, an invariant that it makes true. */
typedef struct {
    uint32_t instance;
    int32_t child; /* where the walk begins */
    uint32_t watch; /* for predicates: which watch asks */
    int32_t idle;  /* the child that needs no look */
} Candidate;

typedef struct {
    uint32_t slot;     /* or NO_SLOT: one instance that begins otherwise, in the list of value 0 */
    uint32_t values;
    uint32_t *offsets; /* values + 2: the last list is for values never seen: all of the group, with nothing known */
    Candidate *candidates;
    uint64_t *masks; /* for each list, the bits of a packed state that its actions were ever seen to touch; or NULL */
    uint32_t kin;    /* the first group that does the same with its slot as this one does with its own */
} Group;

/* Every instance of a group. */
static inline const Candidate *members_of(const Group *group) {
    return group->candidates + group->offsets[group->slot == NO_SLOT ? 0 : group->values];
}


typedef struct {
    Vector groups; /* Group */
    size_t quiet;  /* of watches: so many groups, the first ones, call for nothing with any value that was seen */
} Dispatch;

typedef struct {
    uint32_t keys;
    uint32_t width;
    uint32_t *slots; /* keys * width */
} Columns;

/* What is looked for: numbers are predicate numbers; `finding` numbers name them to Python. */
typedef struct {
    uint32_t predicate;
    uint32_t finding;
    uint8_t wanted; /* the value that is a finding */
} Watch;

/* A state that decides something: `state` is interleaved; with `action` the decision falls one step later, in `after`. */
typedef struct {
    uint32_t state;
    uint32_t action;
    uint32_t *after;
} Found;

struct Kernel;

/* Edges noted during the search, see edges.c. */
typedef struct {
    bool are_noted;
    size_t round;     /* the first edge of the round */
    uint64_t *lately; /* for each place of Worker.lately: the edge that named it */
    /* large vectors */
    Vector sources;   /* uint32_t pairs: a state, interleaved, and how many edges it has */
    Vector targets;   /* uint32_t, interleaved; dense in MODE_GRAPH */
    Vector actions;   /* uint32_t */
    Vector repeats;   /* uint64_t: edges of this round whose target is that of an earlier one */
} Edges;

/* What one thread works with; nothing here is shared while a round runs. */
typedef struct {
    _Alignas(APART) struct Kernel *kernel;
    uint32_t *before;
    uint32_t *after;
    uint32_t *scratch;
    uint64_t *words;
    uint64_t *recalled;
    uint64_t stamp;
    bool follows;      /* the state expanded last was without misses and findings: what it showed may be used again */
    uint64_t *changed; /* the bits in which the state at hand differs from it; all if it does not follow one */
    Vector recalls;    /* Vector for each group of actions: what they do, as STEP_BYTES records */
    Vector relies;     /* uint64_t words for each group: the bits on which it depends that they do so */
    Vector *ways;      /* of the group being walked */
    uint64_t *memo;    /* MEMO records: what groups did lately, by the bits that they touch */
    uint64_t *clean;   /* CLEAN times words: bits read by watches with which nothing was found lately */
    uint32_t memo_epoch;
    View view;        /* of the state at hand */
    uint32_t state;  /* at hand, interleaved */
    uint32_t action; /* being walked */
    bool missed_here;
    bool found_here;
    bool failed;      /* out of memory */
    bool could_go_on; /* MODE_LAST_LEVEL: some state of the level has a step */
    Vector steps;     /* STEP_BYTES records: the steps out of the state at hand */
    uint64_t *lately; /* LATELY successors that were committed lately, by hash: they need no second insert */
    uint8_t *is_lately;
    Edges edges;
    Vector out;       /* uint64_t records to be inserted: hash, parent and edge, words */
    Vector missed;    /* uint32_t records: instance, has_after, slots values (twice with after) */
    Vector redo;      /* uint32_t states whose steps are not all known */
    Found *found;
    uint64_t *taken;
    uint64_t generated;
} Worker;

#define LATELY 8192u

/* A record of the memo: the value of the group's slot, its kin and the number of ways; the other bits touched; and up to
 * UNASKED ways, with a member's rank and the bits that it flips in the slot (<< 32) in the place of an action's number. */
#define MEMO 4096u
#define UNASKED 2
#define MEMO_WORDS(words) (1 + (size_t)(words) + UNASKED * STEP_WORDS(words))
#define MEMO_WIDEST 2 /* words of a state */
#define CLEAN 16384u

/* A remembered way to take an action: its number, the bits that it flips. A step: the action's number (with OUTSIDE where
 * the constraints are left), the packed successor. */
#define STEP_WORDS(words) (1 + (size_t)(words))
#define STEP_BYTES(words) (STEP_WORDS(words) * sizeof(uint64_t))
#define OUTSIDE (1ull << 63)

/* Takes pieces of work until there are none; whoever does it, whenever he comes. */
typedef void (*Job)(Worker *worker);

/* The threads beside the first, and how they learn of a job. */
typedef struct {
    pthread_t *helpers; /* from 1 on; NULL before they are started */
    pid_t home;
    uint32_t patience; /* how often to look before going to sleep */
    Job job;
    atomic_uint turn;   /* how many jobs there were */
    atomic_uint inside; /* how many helpers are at the job; with the highest bit, others may still come */
    atomic_bool dismissed;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_refused; /* the system has no threads to give: one does it all */
} Crew;

typedef enum { MODE_EXPLORE, MODE_LAST_LEVEL, MODE_GRAPH } Mode;

typedef struct Kernel {
    Tries tries;
    Layout layout;
    Dispatch dispatch; /* of actions */
    Dispatch lookout;  /* of watches that are not settled */
    uint64_t *reads;   /* for each instance: the bits of a packed state that it was ever seen to read or write */
    uint64_t *watched; /* the bits of a packed state that watches beyond the quiet groups were ever seen to read */
    uint32_t epoch;    /* of dispatch, reads and layout: what was remembered in another one is void */
    uint32_t threads;
    uint32_t shared_from; /* a round of fewer states is done by the first thread alone */
    Shard *shards; /* one for each thread */
    Index index;
    const Layout *packed_by; /* while states are packed anew: how they were packed, and what slots hold that they lack */
    const uint32_t *defaults;
    Worker *workers;
    uint32_t predicates;
    Vector watches;     /* Watch on states */
    Vector *judges;     /* for each action: Watch on its steps */
    Vector constraints; /* uint32_t predicate */
    Vector terminal;    /* uint32_t predicate */
    Vector symmetry;    /* Columns */
    bool inspects;      /* there are judges, constraints or symmetries, so that a step needs a closer look */
    bool check_deadlock;
    uint32_t findings; /* how many there can be; the last is the deadlock */
    Found *found;
    uint8_t *settled; /* findings that need no further look */
    uint64_t generated_initially;
    uint32_t depth;
    Mode mode;
    Vector redo; /* uint32_t states of this level to be done before anything else */
    size_t level_size;
    size_t level_done;
    size_t quota;
    size_t *dense_base;
    Lane *lanes; /* one for each thread */
    bool round_redoes; /* lanes are parts of `redo` */
    atomic_size_t parts_taken;
    atomic_bool enough; /* too many states wait for an answer, or there may be no room: do not begin others */
    Crew crew;
    bool notes_edges; /* every worker notes those of the states that it expands */
    /* the graph */
    bool has_graph;
    uint64_t *edge_offsets; /* the first edge of each state */
    uint32_t *edge_degrees; /* how many it has */
    size_t edge_count;
    uint32_t *edge_targets;
    uint32_t *edge_actions;
} Kernel;

typedef enum { ADVANCED_MISSES, ADVANCED_TIME, ADVANCED_LEVEL, ADVANCED_DONE, ADVANCED_MEMORY } Advanced;

/* dispatch.c */
bool dispatches_rebuild(Kernel *kernel);
bool reads_rebuild(Kernel *kernel);
void dispatch_free(Dispatch *dispatch);

/* worker.c */
bool workers_make(Kernel *kernel);
void workers_free(Kernel *kernel);
void note_miss(Worker *worker, uint32_t instance, const uint32_t *before, const uint32_t *after);
void note_found(Worker *worker, uint32_t finding, uint32_t action, const uint32_t *after);
/* In one level, a state that decides something is one step nearer than a step that does. */
bool is_better(const Found *known, uint32_t state, bool is_step);

/* expand.c */
void kernel_canonical(const Kernel *kernel, uint32_t *values, uint32_t *scratch);
/* Walk every step of the state; false if something is not known yet (see worker->missed) or memory ran out. */
bool expand(Worker *worker, uint32_t state);
/* Before the first state after tries, layout or mode may have changed: use nothing of what was seen before. */
void expand_afresh(Worker *worker);

/* crew.c */
/* Start the threads, unless they are there; false if there are none to be had. */
bool crew_start(Kernel *kernel);
/* Do a job with those who come in time; they were started. */
void crew_do(Kernel *kernel, Job job);
/* Do a job of PARTS parts, see next_part: with the others where they were started and there are many states. */
void crew_share(Kernel *kernel, Job job);
#define PARTS 32
#define PARTS_SHARED_FROM 16384
/* The number of a part that nobody has begun; PARTS or more: there is none left. */
static inline size_t next_part(Kernel *kernel) { return atomic_fetch_add(&kernel->parts_taken, 1); }
void crew_stop(Kernel *kernel);

/* edges.c */
bool edges_begin(Edges *edges);
void edges_forget(Edges *edges);
size_t edges_bytes(const Edges *edges);
/* Room for the edges of a state, of which none was noted yet. */
bool edges_reserve(Edges *edges, uint32_t state, size_t degree);
/* Give the next edge the target of an earlier one; false where that is too far back. */
bool edges_repeat(Edges *edges, size_t place);
/* Once all that a round handed over is inserted: every edge has its target. */
void edges_settle(Edges *edges);
/* Forget those of all workers, and note no more. */
void edges_give_up(Kernel *kernel);
/* Between rounds: where one worker gave up, all do. */
void edges_agree(Kernel *kernel);
/* Put those of all workers together as the graph's, `edge_count` of them; false if there is no memory for it. */
bool edges_join(Kernel *kernel);
/* Make the graph of them; false if some are missing, or there is no memory to put them together. */
bool edges_take(Kernel *kernel);

/* rounds.c */
Advanced kernel_advance(Kernel *kernel, double seconds);

/* states.c */
/* Room for so many states more of each worker, and `limit`s that say so; false: out of memory. */
bool kernel_make_room(Kernel *kernel, size_t states);
/* An index of so many buckets over all states. */
bool kernel_index(Kernel *kernel, size_t buckets);
/* Add the successors that the worker has handed over, unless there may be no room for all of them: then it says so. */
bool worker_insert(Worker *worker);
/* The number of a packed state, or NO_STATE. */
uint32_t kernel_lookup(const Kernel *kernel, const uint64_t *state, uint64_t hash);
bool kernel_add_initial(Kernel *kernel, const uint32_t *values, bool *added);
bool kernel_repack(Kernel *kernel, const uint8_t *bits, uint32_t slots, const uint32_t *defaults);
size_t kernel_count(const Kernel *kernel);
void dense_bases(Kernel *kernel);
uint32_t interleaved_of(const Kernel *kernel, size_t dense);
/* Divisions take long where there are many; two threads are the most usual number of several. */
static inline uint32_t owner_of(uint32_t number, uint32_t threads) {
    return threads == 1 ? 0 : threads == 2 ? number & 1 : number % threads;
}
static inline size_t place_of(uint32_t number, uint32_t threads) {
    return threads == 1 ? number : threads == 2 ? number >> 1 : number / threads;
}
static inline const uint64_t *state_words(const Kernel *kernel, uint32_t number) {
    const Shard *shard = &kernel->shards[owner_of(number, kernel->threads)];
    return shard->states + place_of(number, kernel->threads) * kernel->layout.words;
}
static inline uint32_t parent_of(const Kernel *kernel, uint32_t number) {
    return kernel->shards[owner_of(number, kernel->threads)].parents[place_of(number, kernel->threads)];
}
static inline size_t dense_of(const Kernel *kernel, uint32_t number) {
    return kernel->dense_base[owner_of(number, kernel->threads)] + place_of(number, kernel->threads);
}

/* ---- graph.c -------------------------------------------------------------------------------------------------- */

/* ADVANCED_DONE: the edges are there; ADVANCED_MISSES: learn, then build again. Nothing is done for edges that were noted
 * during the search, or built before. */
Advanced kernel_build_graph(Kernel *kernel);
void kernel_free_graph(Kernel *kernel);
static inline uint64_t edges_end(const Kernel *kernel, uint32_t state) {
    return kernel->edge_offsets[state] + kernel->edge_degrees[state];
}

typedef struct {
    uint32_t conditions;
    const uint8_t *strong;
    const uint32_t *offsets; /* for each action: its conditions */
    const uint32_t *numbers;
} FairnessTable;

typedef struct {
    Vector prefix; /* uint32_t states */
    Vector cycle;  /* uint32_t pairs: action, state */
    bool found;
} LassoResult;

typedef struct {
    const uint8_t *allowed;
    const uint8_t *starts;
    const uint8_t **visits;
    uint32_t visit_count;
} FairQuery;

/* Marks in `component` (one uint32_t for each state, 0 for none) the fair components; false: out of memory. */
bool fair_components(const Kernel *kernel, const FairnessTable *fairness, const FairQuery *query, uint32_t *component);
bool find_lasso(const Kernel *kernel, const FairnessTable *fairness, const FairQuery *query, const uint32_t *initial,
                size_t initial_count, LassoResult *result);
bool shortest_to(const Kernel *kernel, const FairQuery *query, const uint32_t *initial, size_t initial_count,
                 const uint32_t *goal, Vector *prefix, bool *found);
void conditions_ever_enabled(const Kernel *kernel, const FairnessTable *fairness, uint8_t *enabled);
bool mark_backwards(const Kernel *kernel, const uint8_t *allowed, uint8_t *marked);

#endif

/* The explored graph: its edges, its fair strongly connected components, and runs that end in one (lassos).
 *
 * States are numbered densely here: shard after shard. Steps that change nothing do not count; stuttering is implicit.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

/* ---- edges ---- */

typedef struct {
    Worker *worker;
    size_t from, to;
    bool complete;
} Range;

#define EDGE_BLOCK 32

/* Note the steps of one state: their labels now, their targets once the block is whole and the table's lines are there. */
static bool note_steps(Worker *worker, Vector *records) {
    const Kernel *kernel = worker->kernel;
    uint32_t words = kernel->layout.words;
    size_t degree = worker->steps.length, length = worker->edges.actions.length, stride = words + 2;
    if (!large_reserve(&worker->edges.targets, sizeof(uint32_t), length + degree) ||
        !large_reserve(&worker->edges.actions, sizeof(uint32_t), length + degree) ||
        !vector_reserve(records, sizeof(uint64_t), records->length + degree * stride))
        return false;
    for (size_t i = 0; i < degree; i++) {
        uint64_t *record = (uint64_t *)records->data + records->length;
        const uint64_t *packed = (uint64_t *)worker->steps.data + i * STEP_WORDS(words) + 1;
        uint64_t action = packed[-1];
        record[0] = hash_words(packed, words);
        record[1] = action & OUTSIDE;
        copy_words(record + 2, packed, words);
        records->length += stride;
        ((uint32_t *)worker->edges.actions.data)[length + i] = (uint32_t)action;
        __builtin_prefetch((const void *)&kernel->index.entries[bucket_of(record[0], kernel->index.buckets)]);
    }
    worker->edges.actions.length = length + degree;
    return true;
}

static void find_targets(Worker *worker, Vector *records) {
    const Kernel *kernel = worker->kernel;
    uint32_t words = kernel->layout.words;
    const uint64_t *record = records->data;
    for (; worker->edges.targets.length < worker->edges.actions.length; record += words + 2) {
        uint32_t number = record[1] & OUTSIDE ? NO_STATE : kernel_lookup(kernel, record + 2, record[0]);
        uint32_t target = number == NO_STATE ? NO_STATE : (uint32_t)dense_of(kernel, number);
        ((uint32_t *)worker->edges.targets.data)[worker->edges.targets.length++] = target;
    }
    records->length = 0;
}

static void *collect_edges(void *context) {
    Range *range = context;
    Worker *worker = range->worker;
    Kernel *kernel = worker->kernel;
    Vector records = {0};
    bool going = true;
    expand_afresh(worker);
    for (size_t from = range->from; going && from < range->to; from += EDGE_BLOCK) {
        size_t to = from + EDGE_BLOCK < range->to ? from + EDGE_BLOCK : range->to;
        for (size_t dense = from; going && dense < to; dense++) {
            going = expand(worker, interleaved_of(kernel, dense));
            if (going && !note_steps(worker, &records)) {
                worker->failed = true;
                going = false;
            }
            kernel->edge_degrees[dense] = (uint32_t)worker->steps.length;
        }
        if (going) find_targets(worker, &records);
    }
    vector_free(&records);
    range->complete = going;
    return NULL;
}

void kernel_free_graph(Kernel *kernel) {
    pages_free(kernel->edge_offsets);
    pages_free(kernel->edge_degrees);
    pages_free(kernel->edge_targets);
    pages_free(kernel->edge_actions);
    kernel->edge_offsets = NULL;
    kernel->edge_degrees = kernel->edge_targets = kernel->edge_actions = NULL;
    kernel->has_graph = false;
}

Advanced kernel_build_graph(Kernel *kernel) {
    size_t states = kernel_count(kernel);
    if (kernel->has_graph) return ADVANCED_DONE;
    dense_bases(kernel);
    kernel->has_graph = edges_take(kernel);
    if (kernel->has_graph) return ADVANCED_DONE;
    edges_give_up(kernel);
    kernel_free_graph(kernel);
    kernel->edge_offsets = pages_zeroed((states + 1) * sizeof(uint64_t));
    kernel->edge_degrees = pages_zeroed((states + 1) * sizeof(uint32_t));
    if (kernel->edge_offsets == NULL || kernel->edge_degrees == NULL) return ADVANCED_MEMORY;
    kernel->mode = MODE_GRAPH;
    Range ranges[kernel->threads];
    pthread_t threads[kernel->threads];
    bool started[kernel->threads];
    for (uint32_t t = 0; t < kernel->threads; t++) {
        Worker *worker = &kernel->workers[t];
        worker->edges.targets.length = worker->edges.actions.length = 0;
        ranges[t] = (Range){worker, states * t / kernel->threads, states * (t + 1) / kernel->threads, false};
        started[t] = t && pthread_create(&threads[t], NULL, collect_edges, &ranges[t]) == 0;
    }
    bool complete = true;
    for (uint32_t t = 0; t < kernel->threads; t++)
        if (!started[t]) collect_edges(&ranges[t]);
    for (uint32_t t = 0; t < kernel->threads; t++) {
        if (started[t]) pthread_join(threads[t], NULL);
        complete = complete && ranges[t].complete;
        if (kernel->workers[t].failed) return ADVANCED_MEMORY;
        kernel->workers[t].redo.length = 0;
    }
    if (!complete) return ADVANCED_MISSES;
    for (size_t i = 0; i < states; i++) kernel->edge_offsets[i + 1] = kernel->edge_offsets[i] + kernel->edge_degrees[i];
    kernel->edge_count = kernel->edge_offsets[states];
    kernel->has_graph = edges_join(kernel);
    return kernel->has_graph ? ADVANCED_DONE : ADVANCED_MEMORY;
}

/* ---- fair components ---- */

typedef struct {
    uint32_t state;
    uint64_t edge;
} Frame;

/* What is known of a state while components are looked for, together: it is asked for all at once. */
typedef struct {
    uint32_t region; /* edges count within one region only; 0 is nowhere */
    uint32_t order;
    uint32_t low;
    uint32_t trial; /* the component being judged */
} Mark;

typedef struct {
    const Kernel *kernel;
    const FairnessTable *fairness;
    const FairQuery *query;
    uint32_t *component; /* the result: the fair component of a state, 0 for none */
    Mark *marks;
    uint32_t *stack;
    Frame *frames;
    uint64_t *seen;  /* for each condition: the last state that had it enabled, and how many had */
    uint32_t *count;
    uint8_t *taken;
    Vector pending; /* uint32_t: count, states... to be searched again (strong fairness) */
    size_t stacked;
    uint32_t next_order;
    uint32_t next_region;
    uint32_t next_component;
    uint32_t trials;
} Components;

static inline bool condition_loop(const FairnessTable *fairness, uint32_t action, uint32_t *from, uint32_t *to) {
    *from = fairness->offsets[action];
    *to = fairness->offsets[action + 1];
    return *from < *to;
}

static bool visits_all(const Components *c, const uint32_t *members, size_t size) {
    for (uint32_t v = 0; v < c->query->visit_count; v++) {
        bool visited = false;
        for (size_t i = 0; i < size && !visited; i++) visited = c->query->visits[v][members[i]];
        if (!visited) return false;
    }
    return true;
}

/* Count where each condition is enabled, and note which are taken inside. */
static void survey(Components *c, const uint32_t *members, size_t size) {
    const Kernel *kernel = c->kernel;
    uint32_t trial = ++c->trials;
    memset(c->count, 0, c->fairness->conditions * sizeof *c->count);
    memset(c->taken, 0, c->fairness->conditions);
    memset(c->seen, 0xFF, c->fairness->conditions * sizeof *c->seen);
    for (size_t i = 0; i < size; i++) c->marks[members[i]].trial = trial;
    for (size_t i = 0; i < size; i++) {
        uint32_t state = members[i];
        for (uint64_t e = kernel->edge_offsets[state]; e < edges_end(kernel, state); e++) {
            uint32_t target = kernel->edge_targets[e], from, to;
            if (target == state || !condition_loop(c->fairness, kernel->edge_actions[e], &from, &to)) continue;
            bool inside = target != NO_STATE && c->marks[target].trial == trial;
            for (; from < to; from++) {
                uint32_t condition = c->fairness->numbers[from];
                if (inside) c->taken[condition] = 1;
                if (c->seen[condition] != state) {
                    c->seen[condition] = state;
                    c->count[condition]++;
                }
            }
        }
    }
}

static bool enabled_in(const Components *c, uint32_t state, const uint8_t *wanted) {
    const Kernel *kernel = c->kernel;
    for (uint64_t e = kernel->edge_offsets[state]; e < edges_end(kernel, state); e++) {
        uint32_t from, to;
        if (kernel->edge_targets[e] == state) continue;
        condition_loop(c->fairness, kernel->edge_actions[e], &from, &to);
        for (; from < to; from++)
            if (wanted[c->fairness->numbers[from]]) return true;
    }
    return false;
}

/* A single state: fair if nothing that must happen can. */
static bool alone_is_fair(const Components *c, uint32_t state) {
    const Kernel *kernel = c->kernel;
    for (uint64_t e = kernel->edge_offsets[state]; e < edges_end(kernel, state); e++) {
        uint32_t from, to;
        if (kernel->edge_targets[e] != state && condition_loop(c->fairness, kernel->edge_actions[e], &from, &to)) return false;
    }
    return true;
}

/* Judge a component: mark it, drop it, or queue what is left of it without states that break a strong condition. */
static bool judge(Components *c, const uint32_t *members, size_t size) {
    if (!visits_all(c, members, size)) return true;
    if (size == 1) {
        if (alone_is_fair(c, members[0])) c->component[members[0]] = ++c->next_component;
        return true;
    }
    survey(c, members, size);
    bool refine = false;
    uint8_t *broken = c->taken; /* reused: 1 where a strong condition is enabled but never taken */
    for (uint32_t n = 0; n < c->fairness->conditions; n++) {
        bool open = !c->taken[n] && c->count[n];
        if (open && !c->fairness->strong[n] && c->count[n] == size) return true;
        broken[n] = open && c->fairness->strong[n];
        refine = refine || broken[n];
    }
    if (!refine) {
        c->next_component++;
        for (size_t i = 0; i < size; i++) c->component[members[i]] = c->next_component;
        return true;
    }
    if (!vector_reserve(&c->pending, sizeof(uint32_t), c->pending.length + size + 1)) return false;
    uint32_t *record = (uint32_t *)c->pending.data + c->pending.length, kept = 0;
    for (size_t i = 0; i < size; i++)
        if (!enabled_in(c, members[i], broken)) record[1 + kept++] = members[i];
    record[0] = kept;
    if (kept) c->pending.length += kept + 1;
    return true;
}

/* Tarjan's algorithm from one root, without recursion, within the root's region. */
static bool components_from(Components *c, uint32_t root) {
    const Kernel *kernel = c->kernel;
    uint32_t region = c->marks[root].region;
    size_t depth = 0;
    c->frames[depth++] = (Frame){root, kernel->edge_offsets[root]};
    c->marks[root].order = c->marks[root].low = c->next_order++;
    c->stack[c->stacked++] = root;
    while (depth) {
        Frame *frame = &c->frames[depth - 1];
        uint32_t state = frame->state;
        if (frame->edge < edges_end(kernel, state)) {
            uint32_t target = kernel->edge_targets[frame->edge++];
            if (target == NO_STATE || target == state || c->marks[target].region != region) continue;
            Mark *met = &c->marks[target];
            if (met->order == 0) {
                met->order = met->low = c->next_order++;
                c->stack[c->stacked++] = target;
                c->frames[depth++] = (Frame){target, kernel->edge_offsets[target]};
            } else if (met->order < c->marks[state].low) {
                c->marks[state].low = met->order;
            }
            continue;
        }
        depth--;
        const Mark *mark = &c->marks[state];
        Mark *above = depth ? &c->marks[c->frames[depth - 1].state] : NULL;
        if (above && mark->low < above->low) above->low = mark->low;
        if (mark->low != mark->order) continue;
        size_t from = c->stacked;
        do c->marks[c->stack[--from]].region = 0;
        while (c->stack[from] != state);
        if (!judge(c, c->stack + from, c->stacked - from)) return false;
        c->stacked = from;
    }
    return true;
}

static bool components_run(Components *c, size_t states) {
    for (size_t i = 0; i < states; i++) c->marks[i].region = c->query->allowed[i] ? 1 : 0;
    c->next_region = 1;
    c->next_order = 1;
    for (size_t i = 0; i < states; i++)
        if (c->marks[i].region == 1 && !components_from(c, (uint32_t)i)) return false;
    while (c->pending.length) {
        /* take the last record: walk the records to find it, they are few */
        uint32_t *data = c->pending.data;
        size_t at = 0, last = 0;
        while (at < c->pending.length) {
            last = at;
            at += data[at] + 1;
        }
        uint32_t size = data[last], region = ++c->next_region;
        uint32_t *members = malloc((size ? size : 1) * sizeof *members);
        if (members == NULL) return false;
        memcpy(members, data + last + 1, size * sizeof *members);
        c->pending.length = last;
        c->next_order = 1;
        for (uint32_t i = 0; i < size; i++) {
            c->marks[members[i]].region = region;
            c->marks[members[i]].order = 0;
        }
        bool done = true;
        for (uint32_t i = 0; done && i < size; i++)
            if (c->marks[members[i]].region == region) done = components_from(c, members[i]);
        free(members);
        if (!done) return false;
    }
    return true;
}

bool fair_components(const Kernel *kernel, const FairnessTable *fairness, const FairQuery *query, uint32_t *component) {
    size_t states = kernel_count(kernel), size = (states + 1) * sizeof(uint32_t);
    size_t conditions = fairness->conditions + 1;
    Components c = {.kernel = kernel, .fairness = fairness, .query = query, .component = component};
    c.marks = pages_zeroed((states + 1) * sizeof *c.marks);
    c.stack = pages_resize(NULL, size);
    c.frames = pages_resize(NULL, (states + 1) * sizeof *c.frames);
    c.seen = malloc(conditions * sizeof *c.seen);
    c.count = malloc(conditions * sizeof *c.count);
    c.taken = malloc(conditions);
    bool done = c.marks && c.stack && c.frames && c.seen && c.count && c.taken;
    memset(component, 0, states * sizeof *component);
    done = done && components_run(&c, states);
    pages_free(c.marks);
    pages_free(c.stack);
    pages_free(c.frames);
    free(c.seen);
    free(c.count);
    free(c.taken);
    vector_free(&c.pending);
    return done;
}

/* ---- runs ---- */

#define PHASE (1ull << 32)
#define UNMET UINT64_MAX
#define ROOT (UINT64_MAX - 1)

typedef struct {
    uint64_t *queue;
    size_t head, tail;
    uint64_t *parents[2];
    const uint8_t *starts;
} Breadth;

static void meet(Breadth *breadth, uint32_t state, uint64_t parent) {
    if (breadth->parents[0][state] == UNMET) {
        breadth->parents[0][state] = parent;
        breadth->queue[breadth->tail++] = state;
    }
    if (breadth->starts[state] && breadth->parents[1][state] == UNMET) {
        breadth->parents[1][state] = parent;
        breadth->queue[breadth->tail++] = PHASE | state;
    }
}

static bool unwind(const Breadth *breadth, uint64_t node, Vector *prefix) {
    for (; node != ROOT; node = breadth->parents[node >= PHASE][(uint32_t)node]) {
        if (!vector_reserve(prefix, sizeof(uint32_t), prefix->length + 1)) return false;
        ((uint32_t *)prefix->data)[prefix->length++] = (uint32_t)node;
    }
    uint32_t *states = prefix->data;
    for (size_t i = 0, j = prefix->length; i + 1 < j; i++) {
        uint32_t swapped = states[i];
        states[i] = states[--j];
        states[j] = swapped;
    }
    return true;
}

/* Anywhere at first, then from a start through allowed states only, to the first state that `goal` marks. */
bool shortest_to(const Kernel *kernel, const FairQuery *query, const uint32_t *initial, size_t initial_count,
                 const uint32_t *goal, Vector *prefix, bool *found) {
    size_t states = kernel_count(kernel), size = (states + 1) * sizeof(uint64_t);
    Breadth breadth = {malloc(2 * size), 0, 0, {malloc(size), malloc(size)}, query->starts};
    bool done = breadth.queue && breadth.parents[0] && breadth.parents[1];
    *found = false;
    if (done) {
        memset(breadth.parents[0], 0xFF, size);
        memset(breadth.parents[1], 0xFF, size);
        for (size_t i = 0; i < initial_count; i++) meet(&breadth, initial[i], ROOT);
    }
    while (done && !*found && breadth.head < breadth.tail) {
        uint64_t node = breadth.queue[breadth.head++];
        uint32_t state = (uint32_t)node;
        if (node >= PHASE && goal[state]) {
            *found = true;
            done = unwind(&breadth, node, prefix);
            break;
        }
        for (uint64_t e = kernel->edge_offsets[state]; e < edges_end(kernel, state); e++) {
            uint32_t target = kernel->edge_targets[e];
            if (target == NO_STATE || target == state) continue;
            if (node < PHASE) {
                meet(&breadth, target, node);
            } else if (query->allowed[target] && breadth.parents[1][target] == UNMET) {
                breadth.parents[1][target] = node;
                breadth.queue[breadth.tail++] = PHASE | target;
            }
        }
    }
    free(breadth.queue);
    free(breadth.parents[0]);
    free(breadth.parents[1]);
    return done;
}

/* What a cycle still owes: a weak or strong condition, or a visit. */
typedef struct {
    const Kernel *kernel;
    const FairnessTable *fairness;
    const FairQuery *query;
    const uint32_t *component;
    uint32_t home;
    uint8_t *owed; /* conditions, then visits */
    uint8_t *here; /* conditions enabled in the state looked at */
    uint32_t left;
    uint64_t *came; /* edge << 32 is too narrow: previous state and edge, per state */
    uint64_t *via;
    uint32_t *queue;
} Debt;

static void enabled_here(Debt *debt, uint32_t state) {
    const Kernel *kernel = debt->kernel;
    memset(debt->here, 0, debt->fairness->conditions);
    for (uint64_t e = kernel->edge_offsets[state]; e < edges_end(kernel, state); e++) {
        uint32_t from, to;
        if (kernel->edge_targets[e] == state) continue;
        condition_loop(debt->fairness, kernel->edge_actions[e], &from, &to);
        for (; from < to; from++) debt->here[debt->fairness->numbers[from]] = 1;
    }
}

/* Whether arriving in `state` by `action` (NO_STATE: being there) pays something owed; `pay` strikes it out. */
static bool pays(Debt *debt, uint32_t action, uint32_t state, bool pay) {
    const FairnessTable *fairness = debt->fairness;
    bool paid = false;
    uint32_t from, to;
    if (action != NO_STATE) {
        condition_loop(fairness, action, &from, &to);
        for (; from < to; from++) {
            uint32_t n = fairness->numbers[from];
            if (!debt->owed[n]) continue;
            paid = true;
            if (pay) debt->owed[n] = 0, debt->left--;
        }
    }
    enabled_here(debt, state);
    for (uint32_t n = 0; n < fairness->conditions; n++) {
        if (!debt->owed[n] || fairness->strong[n] || debt->here[n]) continue;
        paid = true;
        if (pay) debt->owed[n] = 0, debt->left--;
    }
    for (uint32_t v = 0; v < debt->query->visit_count; v++) {
        uint32_t n = fairness->conditions + v;
        if (!debt->owed[n] || !debt->query->visits[v][state]) continue;
        paid = true;
        if (pay) debt->owed[n] = 0, debt->left--;
    }
    return paid;
}

/* The shortest way inside the component from `start` to the end that is asked for: home, or something owed. */
static bool leg(Debt *debt, uint32_t start, bool homewards, Vector *cycle, uint32_t *reached) {
    const Kernel *kernel = debt->kernel;
    uint32_t mine = debt->component[start];
    size_t head = 0, tail = 0, states = kernel_count(kernel);
    memset(debt->came, 0xFF, states * sizeof *debt->came);
    debt->queue[tail++] = start;
    debt->came[start] = start;
    while (head < tail) {
        uint32_t state = debt->queue[head++];
        for (uint64_t e = kernel->edge_offsets[state]; e < edges_end(kernel, state); e++) {
            uint32_t target = kernel->edge_targets[e];
            if (target == NO_STATE || target == state || debt->component[target] != mine) continue;
            bool ends = homewards ? target == debt->home : pays(debt, kernel->edge_actions[e], target, false);
            if (!ends) {
                if (debt->came[target] == UNMET) {
                    debt->came[target] = state;
                    debt->via[target] = e;
                    debt->queue[tail++] = target;
                }
                continue;
            }
            size_t first = cycle->length, steps = 1;
            for (uint32_t at = state; at != start; at = (uint32_t)debt->came[at]) steps++;
            if (!vector_reserve(cycle, sizeof(uint32_t), first + 2 * steps)) return false;
            uint32_t *pairs = (uint32_t *)cycle->data + first;
            pairs[2 * steps - 2] = kernel->edge_actions[e];
            pairs[2 * steps - 1] = target;
            for (size_t i = steps - 1; state != start; state = (uint32_t)debt->came[state], i--) {
                pairs[2 * i - 2] = kernel->edge_actions[debt->via[state]];
                pairs[2 * i - 1] = state;
            }
            cycle->length += 2 * steps;
            for (size_t i = 0; i < steps; i++) pays(debt, pairs[2 * i], pairs[2 * i + 1], true);
            *reached = target;
            return true;
        }
    }
    return false;
}

static bool make_cycle(Debt *debt, Vector *cycle) {
    const Kernel *kernel = debt->kernel;
    size_t states = kernel_count(kernel);
    uint32_t mine = debt->component[debt->home], current = debt->home;
    for (size_t i = 0; i < states; i++) {
        if (debt->component[i] != mine) continue;
        enabled_here(debt, (uint32_t)i);
        for (uint32_t n = 0; n < debt->fairness->conditions; n++)
            if (debt->here[n] && !debt->owed[n]) debt->owed[n] = 1, debt->left++;
    }
    for (uint32_t v = 0; v < debt->query->visit_count; v++) {
        debt->owed[debt->fairness->conditions + v] = 1;
        debt->left++;
    }
    pays(debt, NO_STATE, current, true);
    while (debt->left)
        if (!leg(debt, current, false, cycle, &current)) return false;
    return current == debt->home || leg(debt, current, true, cycle, &current);
}

bool find_lasso(const Kernel *kernel, const FairnessTable *fairness, const FairQuery *query, const uint32_t *initial,
                size_t initial_count, LassoResult *result) {
    size_t states = kernel_count(kernel);
    uint32_t *component = malloc((states + 1) * sizeof *component);
    bool done = component && fair_components(kernel, fairness, query, component);
    bool any = false;
    for (size_t i = 0; done && !any && i < states; i++) any = component[i] != 0;
    result->found = false;
    if (done && any) done = shortest_to(kernel, query, initial, initial_count, component, &result->prefix, &result->found);
    if (done && result->found) {
        size_t owed = fairness->conditions + query->visit_count + 1;
        Debt debt = {.kernel = kernel, .fairness = fairness, .query = query, .component = component};
        debt.home = ((uint32_t *)result->prefix.data)[result->prefix.length - 1];
        debt.owed = calloc(owed, 1);
        debt.here = calloc(owed, 1);
        debt.came = malloc((states + 1) * sizeof *debt.came);
        debt.via = malloc((states + 1) * sizeof *debt.via);
        debt.queue = malloc((states + 1) * sizeof *debt.queue);
        done = debt.owed && debt.here && debt.came && debt.via && debt.queue && make_cycle(&debt, &result->cycle);
        free(debt.owed);
        free(debt.here);
        free(debt.came);
        free(debt.via);
        free(debt.queue);
    }
    free(component);
    return done;
}

void conditions_ever_enabled(const Kernel *kernel, const FairnessTable *fairness, uint8_t *enabled) {
    size_t states = kernel_count(kernel);
    for (uint32_t state = 0; state < states; state++) {
        for (uint64_t e = kernel->edge_offsets[state]; e < edges_end(kernel, state); e++) {
            uint32_t from, to;
            if (kernel->edge_targets[e] == state) continue;
            condition_loop(fairness, kernel->edge_actions[e], &from, &to);
            for (; from < to; from++) enabled[fairness->numbers[from]] = 1;
        }
    }
}

/* Extend `marked` to every allowed state that can reach it through allowed states. */
bool mark_backwards(const Kernel *kernel, const uint8_t *allowed, uint8_t *marked) {
    size_t states = kernel_count(kernel);
    uint64_t *offsets = pages_zeroed((states + 2) * sizeof *offsets);
    uint32_t *queue = malloc((states + 1) * sizeof *queue);
    const uint32_t *targets = kernel->edge_targets;
    bool done = offsets && queue;
    for (uint32_t state = 0; done && state < states; state++)
        for (uint64_t e = kernel->edge_offsets[state]; allowed[state] && e < edges_end(kernel, state); e++)
            if (targets[e] != NO_STATE) offsets[targets[e] + 2]++;
    for (size_t i = 0; done && i < states; i++) offsets[i + 2] += offsets[i + 1];
    uint32_t *sources = done ? pages_resize(NULL, (offsets[states + 1] + 1) * sizeof *sources) : NULL;
    done = done && sources;
    for (uint32_t state = 0; done && state < states; state++)
        for (uint64_t e = kernel->edge_offsets[state]; allowed[state] && e < edges_end(kernel, state); e++)
            if (targets[e] != NO_STATE) sources[offsets[targets[e] + 1]++] = state;
    size_t head = 0, tail = 0;
    for (size_t i = 0; done && i < states; i++)
        if (marked[i]) queue[tail++] = (uint32_t)i;
    while (done && head < tail) {
        uint32_t state = queue[head++];
        for (uint64_t i = offsets[state]; i < offsets[state + 1]; i++) {
            if (marked[sources[i]]) continue;
            marked[sources[i]] = 1;
            queue[tail++] = sources[i];
        }
    }
    pages_free(offsets);
    free(queue);
    pages_free(sources);
    return done;
}

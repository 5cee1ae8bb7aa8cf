/* What is asked of every state: whether predicates are true there, and whether each step leads to where it may.
 *
 * Plain C: arrays are made by proof.py (class Closure), which also checks that every number in them is in range; nothing
 * here allocates. A row is a path in a tree: (node, number that it read) -> child. A child is a node (> 0), nothing (0: no
 * row), or a leaf: -1 for false or disabled, -2 for true; -2 - n for the n-th step of an action.
 *
 * States are in ascending order, so that one state mostly differs from the last only in a few low slots. Slots are
 * therefore read from the highest down, a *level* each. A node waits in the list of its level; when that is read, it
 * moves on to a later level's list, or its step to the list of steps. Where a state agrees with the last one in all
 * levels above k, the lists as they were before level k are still right.
 */
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { SLOT, LATER, TRUTH, FORK };
enum { FINE, NO_ROW, INVARIANT, OUTSIDE, JUDGED, DEADLOCK, UNHELPED, RISEN, UNSETTLED, UNSORTED };
#define EXPORT __attribute__((visibility("default")))

typedef struct {
    /* the states, in ascending order, and word, shift and bits of each slot */
    const uint64_t *states; uint64_t count, words; const int32_t *field;
    /* edges of the trees, and a table of them by hash: key, child; what each node reads, and at which level that is known */
    const uint64_t *edge_key; const int32_t *edge_child; uint64_t edges, room, *cell;
    const int32_t *code, *level, *predicate_level; uint64_t actions;
    /* steps: the action, which bits it keeps and which it sets; other writes: count, (slot, node or 0, copied slot)... */
    const int32_t *action; const uint64_t *keep, *put; const int32_t *other, *others;
    /* levels: where the list of each begins, the level of each bit of a packed state */
    uint64_t levels; const int32_t *offset, *level_of_bit;
    int32_t *list, *length, *trail; uint64_t *mark, trailed, last; uint32_t *epoch, *seen; int8_t *held;
    /* claims: lists of predicates and their lengths; judges of action a are judge[judge_at[a]] to judge[judge_at[a + 1]] */
    const int32_t *invariant, *constraint, *terminal; uint64_t invariants, constraints, terminals, deadlock;
    const int32_t *judge, *judge_at; const uint8_t *helps; uint64_t conditions;
    /* a rank of each state and whether it is owed, column after column; what settles in the last one */
    uint64_t columns; const uint32_t *ranks; const uint8_t *owed, *settled; uint64_t settling;
    /* the steps of the state at hand: where they lead, packed and as a number; where each led the last
     * time; and the action that failed */
    uint64_t *next, *target, *near, failed_action;
} Proof;

static inline uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9ull;
    return hash ^ hash >> 31;
}

static inline int is_less(const Proof *p, const uint64_t *one, uint64_t number) {
    const uint64_t *other = p->states + number * p->words;
    uint64_t w = p->words - 1;
    while (w && one[w] == other[w]) w--;
    return one[w] < other[w];
}

/* The number of a state, or `count`; it is looked for in ever larger strides from `near` on. */
static uint64_t number_of(const Proof *p, const uint64_t *state, uint64_t near) {
    uint64_t low = near, high = near, by = 1;
    if (is_less(p, state, near)) {
        while (low && is_less(p, state, low)) high = low, low = low > by ? low - by : 0, by *= 2;
        if (is_less(p, state, low)) return p->count;
    } else {
        do low = high, high += by, by *= 2;
        while (high < p->count && !is_less(p, state, high));
        if (high > p->count) high = p->count;
    }
    while (high - low > 1) { /* states[low] <= state < states[high] */
        uint64_t middle = low + (high - low) / 2;
        if (is_less(p, state, middle)) high = middle;
        else low = middle;
    }
    return memcmp(p->states + low * p->words, state, 8 * p->words) ? p->count : low;
}

static inline int32_t child_of(const Proof *p, int32_t node, uint32_t number) {
    uint64_t key = (uint64_t)node << 32 | number, at = mixed(0, key) & (p->room - 1);
    for (; p->cell[2 * at]; at = (at + 1) & (p->room - 1))
        if (p->cell[2 * at] == key) return (int32_t)p->cell[2 * at + 1];
    return 0;
}

static inline uint32_t value_of(const Proof *p, int32_t slot, const uint64_t *state) {
    const int32_t *field = p->field + 3 * slot;
    return (uint32_t)(state[field[0]] >> field[1] & ((1ull << field[2]) - 1));
}

/* Whether a predicate is true, from this child of its tree on: 1, 0, or -1 where there is no row. */
static int followed(const Proof *p, int32_t child, const uint64_t *before, const uint64_t *after) {
    while (child > 0) {
        int32_t kind = p->code[child] & 3, ref = p->code[child] >> 2;
        if (kind == SLOT) child = child_of(p, child, value_of(p, ref, before));
        else if (kind == LATER) child = after ? child_of(p, child, value_of(p, ref, after)) : 0;
        else if (kind == TRUTH) {
            int is_true = followed(p, child_of(p, 0, (uint32_t)(p->actions + 1) + (uint32_t)ref), before, 0);
            child = is_true < 0 ? 0 : child_of(p, child, (uint32_t)is_true);
        } else {
            int any = 0;
            for (int32_t pick = 0; pick < ref; pick++) {
                int one = followed(p, child_of(p, child, (uint32_t)pick), before, after);
                if (one < 0) return -1;
                any |= one;
            }
            return any;
        }
    }
    return child ? child == -2 : -1;
}

EXPORT int is_true(const Proof *p, int32_t predicate, const uint64_t *before, const uint64_t *after) {
    return followed(p, child_of(p, 0, (uint32_t)(p->actions + 1) + (uint32_t)predicate), before, after);
}

/* The same in the state at hand, remembered as long as no level that it reads is read anew. */
static inline int holds(Proof *p, int32_t predicate, const uint64_t *state) {
    uint32_t epoch = p->epoch[p->predicate_level[predicate]];
    if (p->seen[predicate] != epoch) {
        p->seen[predicate] = epoch;
        p->held[predicate] = (int8_t)is_true(p, predicate, state, 0);
    }
    return p->held[predicate];
}

/* Let a child wait for its level, the levels up to `known` being read; false where there is no row. */
static int advance(Proof *p, int32_t child, int32_t known, const uint64_t *state) {
    int32_t at = (int32_t)p->levels;
    while (child > 0) {
        int32_t kind = p->code[child] & 3, ref = p->code[child] >> 2;
        if (kind == FORK) {
            for (int32_t pick = 0; pick < ref; pick++)
                if (!advance(p, child_of(p, child, (uint32_t)pick), known, state)) return 0;
            return 1;
        }
        if ((at = p->level[child]) > known) break;
        at = (int32_t)p->levels;
        int number = kind == TRUTH ? holds(p, ref, state) : kind == SLOT ? 0 : -1;
        child = number < 0 ? 0 : child_of(p, child, kind == SLOT ? value_of(p, ref, state) : (uint32_t)number);
    }
    if (child < -1 || child > 0) {
        p->list[p->offset[at] + p->length[at]++] = child;
        p->trail[p->trailed++] = at;
    }
    return child != 0;
}

/* Make a state the one at hand: read it from the highest level in which it differs from the last one. */
static int enter(Proof *p, uint64_t number) {
    const uint64_t *state = p->states + number * p->words, *last = p->states + p->last * p->words;
    int32_t k = p->last < p->count ? (int32_t)p->levels : 0;
    for (uint64_t w = p->words; p->last < p->count && w-- > 0;)
        if (state[w] != last[w]) {
            k = p->level_of_bit[64 * w + 63 - (uint64_t)__builtin_clzll(state[w] ^ last[w])];
            break;
        }
    p->last = number;
    if (k < (int32_t)p->levels)
        while (p->trailed > p->mark[k]) p->length[p->trail[--p->trailed]]--;
    for (; k < (int32_t)p->levels; k++) {
        p->mark[k] = p->trailed;
        p->epoch[k]++;
        for (int32_t n = 0; n < p->length[k]; n++)
            if (!advance(p, p->list[p->offset[k] + n], k, state)) return NO_ROW;
    }
    return FINE;
}

/* Find where the steps of the state at hand lead; `count` stands for a state that is not among them. */
static int find_targets(Proof *p, const uint64_t *state, uint64_t steps) {
    for (uint64_t n = 0; n < steps; n++) {
        int32_t step = -2 - p->list[p->offset[p->levels] + (int32_t)n];
        uint64_t *next = p->next + n * p->words;
        for (uint64_t w = 0; w < p->words; w++) {
            uint64_t at = (uint64_t)step * p->words + w;
            next[w] = (state[w] & p->keep[at]) | p->put[at];
        }
        const int32_t *other = p->others + p->other[step];
        for (int32_t left = *other++; left > 0; left--, other += 3) {
            const int32_t *field = p->field + 3 * other[0];
            int64_t number = value_of(p, other[2], state);
            if (other[1]) number = (int64_t)child_of(p, other[1], (uint32_t)number) - 1;
            if (number < 0 || number >> field[2]) return NO_ROW;
            next[field[0]] |= (uint64_t)number << field[1];
        }
        p->target[n] = number_of(p, next, p->near[step]);
        if (p->target[n] < p->count) p->near[step] = p->target[n];
    }
    return FINE;
}

static int check_step(Proof *p, uint64_t number, uint64_t n, int32_t action) {
    const uint64_t *next = p->next + n * p->words;
    for (int32_t at = p->judge_at[action]; at < p->judge_at[action + 1]; at++) {
        int value = is_true(p, p->judge[at], p->states + number * p->words, next);
        if (value < 1) return value ? NO_ROW : JUDGED;
    }
    if (p->target[n] < p->count) return FINE;
    int inside = 1;
    for (uint64_t at = 0; at < p->invariants; at++) {
        int value = is_true(p, p->invariant[at], next, 0);
        if (value < 1) return value ? NO_ROW : INVARIANT;
    }
    for (uint64_t at = 0; inside == 1 && at < p->constraints; at++) inside = is_true(p, p->constraint[at], next, 0);
    return inside ? (inside < 0 ? NO_ROW : OUTSIDE) : FINE;
}

/* No step raises a rank, and the helpful condition, if there is one, is enabled and lowers it. */
static int check_rank(Proof *p, uint64_t number, uint64_t steps, uint64_t column) {
    const uint32_t *ranks = p->ranks + column * p->count;
    uint32_t rank = ranks[number];
    uint64_t helpful = rank % (p->conditions + 1);
    int is_helped = helpful == p->conditions;
    for (uint64_t n = 0; rank && n < steps; n++) {
        uint64_t target = p->target[n];
        if (target == number) continue;
        p->failed_action = (uint64_t)p->action[-2 - p->list[p->offset[p->levels] + (int32_t)n]];
        int helps = helpful < p->conditions && p->helps[p->failed_action * p->conditions + helpful];
        is_helped |= helps;
        if (target == p->count || (!ranks[target] && !p->owed[column * p->count + target])) continue;
        if (!ranks[target] || ranks[target] > rank || (ranks[target] == rank && helps)) return RISEN;
        if (column + 1 < p->columns || ranks[target] < rank || helpful < p->conditions) continue;
        for (uint64_t each = 0; each < p->settling; each++)
            if (p->settled[each * p->count + number] != p->settled[each * p->count + target]) return UNSETTLED;
    }
    return rank && !is_helped ? UNHELPED : FINE;
}

static int check_state(Proof *p, uint64_t number) {
    const uint64_t *state = p->states + number * p->words;
    if (enter(p, number)) return NO_ROW;
    uint64_t steps = (uint64_t)p->length[p->levels];
    int failed = find_targets(p, state, steps), may_rest = steps || !p->deadlock;
    for (uint64_t n = 0; n < p->invariants; n++) {
        int value = holds(p, p->invariant[n], state);
        if (value < 1) return value ? NO_ROW : INVARIANT;
    }
    for (uint64_t n = 0; !failed && n < steps; n++) {
        p->failed_action = (uint64_t)p->action[-2 - p->list[p->offset[p->levels] + (int32_t)n]];
        failed = check_step(p, number, n, (int32_t)p->failed_action);
    }
    for (uint64_t n = 0; !failed && !may_rest && n < p->terminals; n++) {
        int value = holds(p, p->terminal[n], state);
        if (value < 0) return NO_ROW;
        may_rest = value;
    }
    for (uint64_t column = 0; !failed && column < p->columns; column++) failed = check_rank(p, number, steps, column);
    return failed || may_rest ? failed : DEADLOCK;
}

/* Fill the tables, and let every action wait for what it reads first. */
EXPORT int prepare(Proof *p) {
    for (uint64_t n = 0; n < p->edges; n++) {
        uint64_t at = mixed(0, p->edge_key[n]) & (p->room - 1);
        while (p->cell[2 * at]) at = (at + 1) & (p->room - 1);
        p->cell[2 * at] = p->edge_key[n];
        p->cell[2 * at + 1] = (uint64_t)p->edge_child[n];
    }
    for (uint64_t n = 0; n < p->count; n++) {
        const uint64_t *state = p->states + n * p->words, *last = n ? state - p->words : 0;
        uint64_t w = p->words - 1;
        while (last && w && state[w] == last[w]) w--;
        if (last && state[w] <= last[w]) return UNSORTED;
    }
    for (uint64_t action = 0; p->count && action < p->actions; action++)
        if (!advance(p, child_of(p, 0, (uint32_t)action + 1), -1, p->states)) return NO_ROW;
    p->mark[0] = p->trailed;
    return FINE;
}

/* Whether a predicate is true in each state `within`, in `mask`; -1 for a state that has no row. */
EXPORT int find_true(const Proof *p, int32_t predicate, const uint8_t *within, int8_t *mask) {
    for (uint64_t n = 0; n < p->count; n++)
        if (within[n] && (mask[n] = (int8_t)is_true(p, predicate, p->states + n * p->words, 0)) < 0) return NO_ROW;
    return FINE;
}

/* Which states have a rank, and which of these ranks have no helpful condition. */
EXPORT void find_ranked(const Proof *p, const uint32_t *ranks, uint8_t *ranked, uint8_t *ends) {
    for (uint64_t n = 0; n < p->count; n++) {
        ranked[n] = ranks[n] != 0;
        ends[n] = ranked[n] && ranks[n] % (p->conditions + 1) == p->conditions;
    }
}

/* Check the states from `number` on up to `end`; `last` is then the one that failed. */
EXPORT int check_states(Proof *p, uint64_t number, uint64_t end) {
    int failed = FINE;
    for (; !failed && number < end; number++) failed = check_state(p, number);
    return failed;
}

/* The number of steps of a state, whose targets are then in `target`; -1 where there is no row. */
EXPORT int64_t find_steps(Proof *p, uint64_t number) {
    if (enter(p, number) || find_targets(p, p->states + number * p->words, (uint64_t)p->length[p->levels])) return -1;
    return p->length[p->levels];
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_closure", "Called by ctypes.", -1, 0, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit__closure(void) { return PyModule_Create(&definition); }

/* What is asked of every state: whether it has a row for whatever is read there, where each step leads, what is claimed.
 *
 * Plain C, called by proof.py, which makes all arrays and has executed all rows before; nothing here allocates. Rows are
 * numbers as they are in the file: instance, n, n pairs (reference, number), leaf. They are paths in trees: (node, number
 * that it read) -> child. A child is a node (> 0), nothing (0: no row), or -k for the leaf that is at rows[k].
 *
 * States are in ascending order, so one mostly differs from the last only in a few slots. What an instance does is looked
 * up again only where one of the bits that it looked at has changed since.
 */
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { SLOT, LATER, TRUTH, FORK };
enum { NUMBER, COPIED, UPDATED };
enum { ALWAYS_EVENTUALLY, LEADS_TO, HENCEFORTH, EVENTUALLY, UNTIL, END };
enum { FINE, CONTRADICTION, UNSORTED, NO_ROW, INVARIANT, OUTSIDE, JUDGED, DEADLOCK, UNRANKED, UNHELPED, BROKEN, RISEN, UNSETTLED };
#define EXPORT __attribute__((visibility("default")))

typedef struct {
    /* packed states; word, shift and bits of each slot; rows, of actions, then of predicates, then of updates */
    const uint64_t *states; uint64_t count, words; const uint32_t *field, *rows; uint64_t length, actions, predicates;
    /* trees: a table of (node, number) and child, what each node reads, and the root of each instance */
    uint64_t *cell; uint32_t *code; int32_t *root; uint64_t room;
    /* bits that differ from the last state; of each watched instance in the state at hand: bits that it looked at, truth,
     * by bits and by bytes, how true it must be (1: an invariant), and its leaves, which are at leaf[first] */
    uint64_t *change, *looked, *enabled; int8_t *truth; const int8_t *least; uint32_t *leaf, *leaves; const uint32_t *first, *watched; uint64_t watching;
    /* claims: instances and their number; judges of each action; actions that help each condition; columns of ranks */
    const uint32_t *invariant, *constraint, *terminal, *judge, *ending, *settling, *column, *ranks; const uint8_t *helps;
    uint64_t invariants, constraints, terminals, judges, endings, settlings, columns, deadlock, conditions;
    /* the state at hand, its steps: actions, where they lead, packed and by number; where each row led the last
     * time; the action that failed */
    uint64_t at; uint32_t *taken; uint64_t *next, *target; uint32_t *near; uint64_t failed;
} Proof;

static inline uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9ull;
    return hash ^ hash >> 31;
}

/* Where the edge from a node by a number is in the table, or would be: its key, and then its child. */
static inline uint64_t edge_of(const Proof *p, int32_t node, uint32_t number) {
    uint64_t key = (uint64_t)node << 32 | number, at = mixed(0, key) & (p->room - 1);
    while (p->cell[2 * at] && p->cell[2 * at] != key) at = (at + 1) & (p->room - 1);
    return 2 * at;
}

static inline int32_t child_of(const Proof *p, int32_t node, uint32_t number) {
    return (int32_t)p->cell[edge_of(p, node, number) + 1];
}

/* Whether a state is before the one with a number; the last word counts most. */
static inline int is_before(const Proof *p, const uint64_t *state, uint64_t number) {
    const uint64_t *other = p->states + number * p->words;
    uint64_t w = p->words - 1;
    while (w && state[w] == other[w]) w--;
    return state[w] < other[w];
}

/* The number of a state, or `count`; it is looked for in ever larger strides from `near` on. */
static uint64_t number_of(const Proof *p, const uint64_t *state, uint64_t near) {
    uint64_t low = near, high = near + 1, by = 1;
    for (; low && is_before(p, state, low); by *= 2) high = low, low = low > by ? low - by : 0;
    for (; high < p->count && !is_before(p, state, high); by *= 2) low = high, high = high + by;
    if (high > p->count) high = p->count;
    while (high - low > 1) { /* from here on: states[low] <= state < states[high], if it is among them */
        uint64_t middle = low + (high - low) / 2;
        if (is_before(p, state, middle)) high = middle;
        else low = middle;
    }
    return memcmp(p->states + low * p->words, state, 8 * p->words) ? p->count : low;
}

static inline uint32_t value_of(const Proof *p, uint64_t slot, const uint64_t *state) {
    const uint32_t *field = p->field + 3 * slot;
    return (uint32_t)(state[field[0]] >> field[1] & ((1ull << field[2]) - 1));
}

/* Whether what an instance does, from this child of its tree on, is true (a step: can be taken); -1 where there is no row.
 * Adds the bits that it looks at, and the leaves that are true, one for each way to choose. Predicates in a circle have no row. */
static int walk(const Proof *restrict p, int32_t child, const uint64_t *before, const uint64_t *after, uint64_t *looked,
                uint32_t **leaf, uint64_t depth) {
    while (child > 0) {
        uint32_t kind = p->code[child] & 3, ref = p->code[child] >> 2;
        int64_t number = -1;
        if (kind == FORK) {
            int any = 0;
            for (uint32_t pick = 0; pick < ref; pick++) {
                int one = walk(p, child_of(p, child, pick), before, after, looked, leaf, depth);
                if (one < 0) return -1;
                any |= one;
            }
            return any;
        }
        if (kind == SLOT) {
            const uint32_t *field = p->field + 3 * ref;
            number = value_of(p, ref, before);
            if (looked) looked[field[0]] |= ((1ull << field[2]) - 1) << field[1];
        } else if (kind == LATER && after) number = value_of(p, ref, after);
        else if (kind == TRUTH && depth) number = walk(p, p->root[p->actions + ref], before, 0, looked, 0, depth - 1);
        child = number < 0 ? 0 : child_of(p, child, (uint32_t)number);
    }
    if (!child) return -1;
    if (leaf && p->rows[-child]) *(*leaf)++ = (uint32_t)-child;
    return p->rows[-child] != 0;
}

EXPORT int is_true(const Proof *p, uint64_t instance, const uint64_t *before, const uint64_t *after) {
    return walk(p, p->root[instance], before, after, 0, 0, p->predicates);
}

/* The same of a watched predicate, which is known of the state at hand. */
static inline int holds(const Proof *p, uint32_t instance, const uint64_t *state) {
    return state == p->states + p->at * p->words ? p->truth[instance] : is_true(p, instance, state, 0);
}

/* Make a state the one at hand: see what all watched instances do there, and that invariants are true. */
static int enter(Proof *p, uint64_t number) {
    const uint64_t *state = p->states + number * p->words, *last = p->states + p->at * p->words, words = p->words;
    for (uint64_t w = 0; w < words; w++) p->change[w] = p->at == p->count ? ~0ull : state[w] ^ last[w];
    p->at = number;
    for (const uint32_t *watched = p->watched, *end = watched + p->watching; watched < end; watched++) {
        uint64_t *looked = p->looked + *watched * words, changed = 0;
        for (uint64_t w = 0; w < words; w++) changed |= looked[w] & p->change[w];
        if (!changed) continue;
        uint32_t instance = *watched, *leaf = p->leaf + p->first[instance];
        memset(looked, 0, 8 * words);
        int truth = walk(p, p->root[instance], state, 0, looked, &leaf, p->predicates);
        if (truth < p->least[instance]) return truth ? NO_ROW : INVARIANT;
        p->truth[instance] = (int8_t)truth;
        p->leaves[instance] = (uint32_t)(leaf - p->leaf) - p->first[instance];
        p->enabled[instance / 64] &= ~(1ull << instance % 64);
        p->enabled[instance / 64] |= (uint64_t)truth << instance % 64;
    }
    return FINE;
}

/* The state after a step; false where there is no row for what becomes of a value, or no room for that. */
static int apply(const Proof *p, const uint32_t *leaf, const uint64_t *state, uint64_t *next) {
    memcpy(next, state, 8 * p->words);
    for (const uint32_t *write = leaf + 1, *end = write + 2 * (*leaf - 1); write < end; write += 2) {
        const uint32_t *field = p->field + 3 * write[0];
        int64_t number = write[1] >> 2;
        if ((write[1] & 3) == COPIED) number = value_of(p, (uint64_t)number, state);
        else if ((write[1] & 3) == UPDATED) {
            int32_t root = child_of(p, 0, (uint32_t)(p->actions + p->predicates) + (uint32_t)number + 1);
            int32_t after = root > 0 ? child_of(p, root, value_of(p, write[0], state)) : 0;
            number = after < 0 ? (int64_t)p->rows[-after] : -1;
        }
        if (number < 0 || number >> field[2]) return 0;
        next[field[0]] &= ~(((1ull << field[2]) - 1) << field[1]);
        next[field[0]] |= (uint64_t)number << field[1];
    }
    return 1;
}

/* Make a state the one at hand, and find where its steps lead: the number of steps, or what failed, below 0. A state
 * that is not among the states has the number `count`. */
EXPORT int64_t find_steps(Proof *p, uint64_t number) {
    int64_t steps = 0, failed = enter(p, number);
    if (failed) return -failed;
    for (uint64_t each = 0; each < p->actions; each += 64)
        for (uint64_t left = p->enabled[each / 64]; left; left &= left - 1) {
            uint64_t action = each + (uint64_t)__builtin_ctzll(left);
            for (uint32_t n = 0; action < p->actions && n < p->leaves[action]; n++, steps++) {
                uint32_t leaf = p->leaf[p->first[action] + n];
                uint64_t *next = p->next + (uint64_t)steps * p->words;
                if (!apply(p, p->rows + leaf, p->states + number * p->words, next)) return -NO_ROW;
                p->taken[steps] = (uint32_t)action;
                p->target[steps] = number_of(p, next, p->near[leaf]);
                if (p->target[steps] < p->count) p->near[leaf] = (uint32_t)p->target[steps];
            }
        }
    return steps;
}

/* A step is as properties of steps say, and leads to one of the states, or to one that is outside of a constraint. */
static int check_step(const Proof *p, uint64_t n) {
    const uint64_t *next = p->next + n * p->words;
    for (const uint32_t *judge = p->judge + p->taken[n] * p->judges, *end = judge + p->judges; judge < end; judge++)
        if (*judge && is_true(p, *judge, p->states + p->at * p->words, next) != 1) return JUDGED;
    if (p->target[n] < p->count) return FINE;
    for (uint64_t at = 0; at < p->invariants; at++)
        if (is_true(p, p->invariant[at], next, 0) != 1) return INVARIANT;
    for (uint64_t at = 0; at < p->constraints; at++)
        if (is_true(p, p->constraint[at], next, 0) == 0) return FINE;
    return OUTSIDE;
}

/* Whether a state still owes what a column is about; -1 where there is no row. In the column of the end all states do. */
static inline int is_owed(const Proof *p, const uint32_t *column, const uint64_t *state) {
    int goal = column[0] == END ? 0 : holds(p, column[2], state);
    return goal ? goal < 0 ? -1 : 0 : column[0] == HENCEFORTH ? holds(p, column[1], state) : 1;
}

/* The state at hand has a rank where it must; no step raises it; its helpful condition, if it has one, is enabled and
 * lowers it; where it has none, what is promised of the end is so. */
static int check_rank(Proof *p, uint64_t steps, uint64_t at) {
    const uint32_t *column = p->column + 3 * at, *ranks = p->ranks + at * p->count, rank = ranks[p->at];
    const uint64_t *state = p->states + p->at * p->words;
    uint64_t helpful = rank % (p->conditions + 1);
    int owed = is_owed(p, column, state), is_helped = helpful == p->conditions, is_end = is_helped;
    if (!rank && column[0] != EVENTUALLY && column[0] != UNTIL) /* in these two, only initial states begin to owe */
        return owed && (column[0] != LEADS_TO || holds(p, column[1], state)) ? UNRANKED : FINE;
    if (!rank) return FINE;
    if (is_end && column[0] != END) return UNHELPED;
    if (column[0] == UNTIL && is_true(p, column[1], state, 0) != 1) return BROKEN;
    for (uint64_t n = 0; is_end && n < p->endings; n++)
        if (is_true(p, p->ending[n], state, 0) != 1) return BROKEN;
    for (uint64_t n = 0; is_end && n < p->settlings; n++)
        if (is_true(p, p->settling[n], state, 0) < 0) return NO_ROW;
    for (uint64_t n = 0; n < steps; n++) {
        uint64_t target = p->target[n];
        if (target == p->at) continue;
        p->failed = p->taken[n];
        int helps = !is_end && p->helps[p->failed * p->conditions + helpful];
        is_helped |= helps;
        if (target == p->count) continue;
        const uint64_t *next = p->states + target * p->words;
        if (!ranks[target] && is_owed(p, column, next) == 0) continue;
        if (!ranks[target] || ranks[target] > rank || (ranks[target] == rank && helps)) return RISEN;
        for (uint64_t each = 0; is_end && ranks[target] == rank && each < p->settlings; each++)
            if (is_true(p, p->settling[each], state, 0) != is_true(p, p->settling[each], next, 0)) return UNSETTLED;
    }
    return is_helped ? FINE : UNHELPED;
}

static int check_state(Proof *p, uint64_t number) {
    const uint64_t *state = p->states + number * p->words;
    int64_t steps = find_steps(p, number);
    if (steps < 0) return (int)-steps;
    for (int64_t n = 0; n < steps; n++) {
        int failed = check_step(p, (uint64_t)n);
        p->failed = p->taken[n];
        if (failed) return failed;
    }
    int may_rest = steps || !p->deadlock;
    for (uint64_t n = 0; !may_rest && n < p->terminals; n++) may_rest = is_true(p, p->terminal[n], state, 0) == 1;
    if (!may_rest) return DEADLOCK;
    for (uint64_t column = 0; column < p->columns; column++) {
        int failed = check_rank(p, (uint64_t)steps, column);
        if (failed) return failed;
    }
    return FINE;
}

/* Check all states; `at` is then the one that failed. */
EXPORT int check_states(Proof *p) {
    for (uint64_t number = 0; number < p->count; number++) {
        int failed = check_state(p, number);
        if (failed) return failed;
    }
    return FINE;
}

/* Make the tables: of rows, none of which may contradict another; states must be in ascending order. */
EXPORT int prepare(Proof *p) {
    int32_t nodes = 1;
    for (uint64_t at = 0; at < p->length;) {
        uint64_t instance = p->rows[at], end = at + 2 + 2 * p->rows[at + 1];
        uint64_t edge = edge_of(p, 0, (uint32_t)instance + 1), key = instance + 1;
        p->failed = instance;
        for (at += 2; at < end; at += 2) {
            p->cell[edge] = key;
            if (!p->cell[edge + 1]) p->code[nodes] = p->rows[at], p->cell[edge + 1] = (uint64_t)nodes++;
            int32_t node = (int32_t)p->cell[edge + 1];
            if (node < 0 || p->code[node] != p->rows[at]) return CONTRADICTION;
            key = (uint64_t)node << 32 | p->rows[at + 1];
            edge = edge_of(p, node, p->rows[at + 1]);
        }
        if (p->cell[edge + 1]) return CONTRADICTION;
        p->cell[edge] = key;
        p->cell[edge + 1] = (uint64_t) - (int64_t)at;
        at += instance < p->actions && p->rows[at] ? 2 * p->rows[at] - 1 : 1;
    }
    for (uint32_t n = 0; n < p->actions + p->predicates; n++) p->root[n] = child_of(p, 0, n + 1);
    for (p->at = 1; p->at < p->count; p->at++)
        if (!is_before(p, p->states + (p->at - 1) * p->words, p->at)) return UNSORTED;
    p->at = p->count;
    return FINE;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_closure", "Called by ctypes.", -1, 0, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit__closure(void) { return PyModule_Create(&definition); }

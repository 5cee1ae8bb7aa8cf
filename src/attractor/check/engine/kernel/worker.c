/* What a thread works with, and what it notes on its way: steps that are not known, states that decide something. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define MISSES_PER_ROUND 1024

/* Free what depends on the number of words. */
static void forget_steps(Worker *worker) {
    Vector *recalls = worker->recalls.data;
    for (size_t i = 0; i < worker->recalls.length; i++) vector_free(&recalls[i]);
    vector_free(&worker->recalls);
    vector_free(&worker->relies);
    vector_free(&worker->steps);
    free(worker->memo);
    free(worker->clean);
    worker->memo = worker->clean = NULL;
}

/* Zeroed memory in the place of `old`, in lines of its own: what one thread writes shares none with what another does. */
static void *renew_apart(void *old, size_t size) {
    free(old);
    return calloc_apart(size / APART + 1, APART);
}

bool workers_make(Kernel *kernel) {
    uint32_t slots = kernel->layout.slots + 1, words = kernel->layout.words;
    if (kernel->workers == NULL) {
        kernel->workers = calloc_apart(kernel->threads, sizeof *kernel->workers);
        if (kernel->workers == NULL) return false;
    }
    for (uint32_t i = 0; i < kernel->threads; i++) {
        Worker *worker = &kernel->workers[i];
        worker->kernel = kernel;
        worker->before = renew_apart(worker->before, slots * sizeof(uint32_t));
        worker->after = renew_apart(worker->after, slots * sizeof(uint32_t));
        worker->scratch = renew_apart(worker->scratch, 2 * slots * sizeof(uint32_t));
        worker->words = renew_apart(worker->words, words * sizeof(uint64_t));
        worker->changed = renew_apart(worker->changed, words * sizeof(uint64_t));
        forget_steps(worker);
        worker->memo_epoch = kernel->epoch - 1;
        if (words <= MEMO_WIDEST) worker->memo = malloc(MEMO * MEMO_WORDS(words) * sizeof(uint64_t));
        if (words <= MEMO_WIDEST) worker->clean = malloc((size_t)CLEAN * words * sizeof(uint64_t));
        if (words <= MEMO_WIDEST && (worker->memo == NULL || worker->clean == NULL)) return false;
        worker->recalled = renew_apart(worker->recalled, (kernel->predicates + 1) * sizeof(uint64_t));
        worker->lately = renew_apart(worker->lately, (size_t)LATELY * words * sizeof(uint64_t));
        worker->is_lately = renew_apart(worker->is_lately, LATELY);
        worker->stamp = 0;
        if (kernel->notes_edges && !worker->edges.are_noted && !edges_begin(&worker->edges)) return false;
        if (worker->taken == NULL) worker->taken = renew_apart(NULL, (kernel->tries.actions + 1) * sizeof(uint64_t));
        if (worker->found == NULL) {
            worker->found = renew_apart(NULL, kernel->findings * sizeof(Found));
            for (uint32_t f = 0; worker->found && f < kernel->findings; f++) worker->found[f].state = NO_STATE;
        }
        bool state = worker->before && worker->after && worker->scratch && worker->words && worker->recalled;
        bool last = worker->changed && worker->lately && worker->is_lately;
        if (!state || !last || !worker->taken || !worker->found) return false;
    }
    return true;
}

void workers_free(Kernel *kernel) {
    for (uint32_t i = 0; kernel->workers && i < kernel->threads; i++) {
        Worker *worker = &kernel->workers[i];
        for (uint32_t f = 0; worker->found && f < kernel->findings; f++) free(worker->found[f].after);
        free(worker->before);
        free(worker->after);
        free(worker->scratch);
        free(worker->words);
        forget_steps(worker);
        free(worker->changed);
        free(worker->recalled);
        free(worker->lately);
        free(worker->is_lately);
        vector_free(&worker->out);
        free(worker->taken);
        free(worker->found);
        edges_forget(&worker->edges);
        vector_free(&worker->missed);
        vector_free(&worker->redo);
    }
    free(kernel->workers);
    kernel->workers = NULL;
}

void note_miss(Worker *worker, uint32_t instance, const uint32_t *before, const uint32_t *after) {
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

bool is_better(const Found *known, uint32_t state, bool is_step) {
    if (known->state == NO_STATE) return true;
    return is_step == (known->after != NULL) ? state < known->state : !is_step;
}

void note_found(Worker *worker, uint32_t finding, uint32_t action, const uint32_t *after) {
    Found *found = &worker->found[finding];
    worker->found_here = true;
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

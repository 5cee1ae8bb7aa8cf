/* The threads that help. They are started once, when the first level is large enough to be shared, and live until the
 * search is freed: between jobs they wait for the next one, awake for a moment, then asleep.
 *
 * A job is a function that takes pieces of work until there are none. So nobody waits for a helper that is slow to wake: the
 * first thread begins at once, and when it finds nothing left it closes the job and waits for those that came in time.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 2000
#define OPEN (1u << 31)

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Wait while `word` holds `value`; whoever changes it calls crew_tell. */
static void wait_while(Crew *crew, atomic_uint *word, unsigned int value) {
    for (uint32_t i = 0; i < crew->patience; i++) {
        if (atomic_load(word) != value) return;
        pause_briefly();
    }
    pthread_mutex_lock(&crew->lock);
    while (atomic_load(word) == value) pthread_cond_wait(&crew->wake, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

static void crew_tell(Crew *crew) {
    pthread_mutex_lock(&crew->lock); /* so that nobody is between having looked and going to sleep */
    pthread_cond_broadcast(&crew->wake);
    pthread_mutex_unlock(&crew->lock);
}

/* Take part in the job, if it is still open. */
static void join_in(Crew *crew, Worker *worker) {
    unsigned int inside = atomic_load(&crew->inside);
    while (inside & OPEN && !atomic_compare_exchange_weak(&crew->inside, &inside, inside + 1)) continue;
    if (!(inside & OPEN)) return;
    crew->job(worker);
    if (atomic_fetch_sub(&crew->inside, 1) == 1) crew_tell(crew); /* the last, and it is closed */
}

static void *help(void *context) {
    Worker *worker = context;
    Crew *crew = &worker->kernel->crew;
    for (unsigned int turn = 0;;) {
        wait_while(crew, &crew->turn, turn);
        turn = atomic_load(&crew->turn);
        if (atomic_load(&crew->dismissed)) return NULL;
        join_in(crew, worker);
    }
}

static void call_crew(Crew *crew) {
    atomic_fetch_add(&crew->turn, 1);
    crew_tell(crew);
}

static void dismiss(Crew *crew, uint32_t there) {
    atomic_store(&crew->dismissed, true);
    call_crew(crew);
    for (uint32_t t = 1; t < there; t++) pthread_join(crew->helpers[t], NULL);
}

static bool is_here(const Crew *crew) { /* a fork takes no threads along */
    return crew->helpers && !crew->is_refused && crew->home == getpid();
}

bool crew_start(Kernel *kernel) {
    Crew *crew = &kernel->crew;
    if (crew->helpers) return is_here(crew);
    crew->helpers = calloc(kernel->threads, sizeof *crew->helpers);
    if (crew->helpers == NULL) return false;
    crew->home = getpid();
    crew->patience = sysconf(_SC_NPROCESSORS_ONLN) >= (long)kernel->threads ? PATIENCE : 0;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->wake, NULL);
    uint32_t there = 1;
    while (there < kernel->threads && pthread_create(&crew->helpers[there], NULL, help, &kernel->workers[there]) == 0) there++;
    crew->is_refused = there < kernel->threads;
    if (crew->is_refused) dismiss(crew, there);
    return !crew->is_refused;
}

void crew_do(Kernel *kernel, Job job) {
    Crew *crew = &kernel->crew;
    crew->job = job;
    atomic_store(&crew->inside, OPEN);
    call_crew(crew);
    job(&kernel->workers[0]);
    unsigned int inside = atomic_fetch_and(&crew->inside, ~OPEN) & ~OPEN;
    while (inside) {
        wait_while(crew, &crew->inside, inside);
        inside = atomic_load(&crew->inside);
    }
}

void crew_share(Kernel *kernel, Job job) {
    atomic_store(&kernel->parts_taken, 0);
    if (is_here(&kernel->crew) && kernel_count(kernel) >= PARTS_SHARED_FROM) crew_do(kernel, job);
    else job(&kernel->workers[0]);
}

void crew_stop(Kernel *kernel) {
    Crew *crew = &kernel->crew;
    if (is_here(crew)) dismiss(crew, kernel->threads);
    free(crew->helpers);
    crew->helpers = NULL;
}

/* The threads that help. They are started once, when the first level is large enough to be shared, and live until the
 * search is freed: between jobs they wait for the next one, awake for a moment, then asleep.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 2000

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Wait until every thread is here. What was written before the meeting is seen by all after it. */
static void crew_meet(Crew *crew) {
    unsigned int turn = atomic_load(&crew->turn);
    if (atomic_fetch_add(&crew->arrived, 1) + 1 == crew->parties) {
        atomic_store(&crew->arrived, 0);
        pthread_mutex_lock(&crew->lock);
        atomic_store(&crew->turn, turn + 1);
        pthread_cond_broadcast(&crew->wake);
        pthread_mutex_unlock(&crew->lock);
        return;
    }
    for (uint32_t i = 0; i < crew->patience; i++) {
        if (atomic_load(&crew->turn) != turn) return;
        pause_briefly();
    }
    pthread_mutex_lock(&crew->lock);
    while (atomic_load(&crew->turn) == turn) pthread_cond_wait(&crew->wake, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

static void *help(void *context) {
    Worker *worker = context;
    Kernel *kernel = worker->kernel;
    Crew *crew = &kernel->crew;
    pthread_mutex_lock(&crew->lock); /* until every helper is there, or will not come */
    bool dismissed = crew->dismissed;
    pthread_mutex_unlock(&crew->lock);
    while (!dismissed) {
        crew_meet(crew);
        dismissed = crew->dismissed;
        if (dismissed) break;
        crew->job(worker);
        crew_meet(crew);
    }
    return NULL;
}

void crew_do(Kernel *kernel, Job job) {
    Crew *crew = &kernel->crew;
    crew->job = job;
    crew_meet(crew);
    job(&kernel->workers[0]);
    crew_meet(crew);
}

void crew_share(Kernel *kernel, Job job) {
    const Crew *crew = &kernel->crew;
    if (crew->helpers && !crew->is_refused && crew->home == getpid()) {
        crew_do(kernel, job);
        return;
    }
    for (uint32_t t = 0; t < kernel->threads; t++) job(&kernel->workers[t]);
}

bool crew_start(Kernel *kernel) {
    Crew *crew = &kernel->crew;
    if (crew->helpers || crew->is_refused) return !crew->is_refused;
    crew->helpers = calloc(kernel->threads, sizeof *crew->helpers);
    if (crew->helpers == NULL) return false;
    crew->home = getpid();
    crew->parties = kernel->threads;
    crew->patience = sysconf(_SC_NPROCESSORS_ONLN) >= (long)kernel->threads ? PATIENCE : 0;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->wake, NULL);
    pthread_mutex_lock(&crew->lock);
    uint32_t there = 1;
    while (there < kernel->threads && pthread_create(&crew->helpers[there], NULL, help, &kernel->workers[there]) == 0) there++;
    crew->is_refused = crew->dismissed = there < kernel->threads;
    pthread_mutex_unlock(&crew->lock);
    if (!crew->is_refused) return true;
    for (uint32_t t = 1; t < there; t++) pthread_join(crew->helpers[t], NULL);
    return false;
}

void crew_stop(Kernel *kernel) {
    Crew *crew = &kernel->crew;
    bool is_here = crew->helpers && !crew->is_refused && crew->home == getpid(); /* a fork takes no threads along */
    if (is_here) {
        crew->dismissed = true;
        crew_meet(crew);
        for (uint32_t t = 1; t < kernel->threads; t++) pthread_join(crew->helpers[t], NULL);
    }
    free(crew->helpers);
    crew->helpers = NULL;
}

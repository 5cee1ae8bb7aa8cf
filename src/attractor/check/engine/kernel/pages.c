/* Large arrays that grow. The system's pages are asked for directly where they are large, so that growing moves pages instead
 * of copying what is on them (an allocator that has once given back a large block copies from then on), and so that
 * random access finds large pages.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAPPED_FROM (1u << 20)
#define PAGE 4096u
#define LARGE_PAGE (1u << 21)

/* In front of the array, on a line of its own. */
typedef union {
    struct {
        size_t size; /* header included */
        bool is_mapped;
    };
    char line[64];
} Header;

static Header *header_of(void *data) { return (Header *)((char *)data - sizeof(Header)); }

#ifdef MREMAP_MAYMOVE
/* Random access to a large array costs less with large pages, where the system has them. The advice is for the whole mapping:
 * one that is advised in part is two to the system, and does not grow. */
static void prefer_large_pages(void *data, size_t size) {
#ifdef MADV_HUGEPAGE
    madvise(data, size, MADV_HUGEPAGE); /* refusing it changes nothing */
#else
    (void)data;
    (void)size;
#endif
}

static Header *resize_mapped(Header *old, size_t size) {
    size_t unit = size < LARGE_PAGE ? PAGE : LARGE_PAGE; /* such sizes get places that begin with a large page */
    size = (size + unit - 1) / unit * unit;
    bool was_mapped = old && old->is_mapped;
    void *made = was_mapped ? mremap(old, old->size, size, MREMAP_MAYMOVE)
                            : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return NULL;
    prefer_large_pages(made, size);
    if (old && !was_mapped) {
        memcpy(made, old, old->size);
        free(old);
    }
    *(Header *)made = (Header){{size, true}};
    return made;
}
#endif

static Header *resize(Header *old, size_t size) {
#ifdef MREMAP_MAYMOVE
    if (size >= MAPPED_FROM || (old && old->is_mapped)) return resize_mapped(old, size);
#endif
    Header *made = realloc(old, size);
    if (made) *made = (Header){{size, false}};
    return made;
}

void *pages_resize(void *data, size_t size) {
    Header *made = resize(data ? header_of(data) : NULL, size + sizeof(Header));
    return made ? made + 1 : NULL;
}

void *pages_zeroed(size_t size) {
    void *data = pages_resize(NULL, size);
    if (data && !header_of(data)->is_mapped) memset(data, 0, size);
    return data;
}

void pages_clear_fresh(void *data, size_t from, size_t to) {
    if (!header_of(data)->is_mapped) {
        memset((char *)data + from, 0, to - from);
        return;
    }
    for (size_t at = from; at < to; at += PAGE) ((volatile char *)data)[at] = 0;
}

void pages_free(void *data) {
    if (data == NULL) return;
    Header *header = header_of(data);
#ifdef MREMAP_MAYMOVE
    if (header->is_mapped) {
        munmap(header, header->size);
        return;
    }
#endif
    free(header);
}

bool large_grow(Vector *vector, size_t element, size_t length) {
    size_t capacity = vector->capacity ? vector->capacity : 16;
    while (capacity < length) capacity += capacity / 2 + 1;
    void *data = pages_resize(vector->data, capacity * element);
    if (data == NULL) return false;
    vector->data = data;
    vector->capacity = capacity;
    return true;
}

void large_free(Vector *vector) {
    pages_free(vector->data);
    memset(vector, 0, sizeof *vector);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Allocates with an allocator that is linked in: each line of input has it allocate that many
 * blocks of 1000 bytes by each of two functions, and say "done"; it begins with "ready". With RUST,
 * the allocator is its own, with the names that Rust's crate of jemalloc has, and gives nothing
 * back.
 */
#include <stdio.h>
#include <stdlib.h>

#define BYTES 1000

#ifdef RUST
static char all[64 << 20];
static size_t used;

void *_rjem_malloc(size_t size);
void *_rjem_mallocx(size_t size, int flags);

__attribute__((noinline)) void *_rjem_malloc(size_t size)
{
	void *memory = all + used;

	used += size;
	return used <= sizeof(all) ? memory : NULL;
}

__attribute__((noinline)) void *_rjem_mallocx(size_t size, int flags)
{
	void *memory = all + used + flags;

	used += size;
	return used <= sizeof(all) ? memory : NULL;
}

#define FIRST	   _rjem_malloc(BYTES)
#define SECOND	   _rjem_mallocx(BYTES, 0)
#define LET_GO(at) (void)(at)
#else
#define FIRST	   malloc(BYTES)
#define SECOND	   calloc(BYTES / 8, 8)
#define LET_GO(at) free(at)
#endif

static __attribute__((noinline)) void first(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile memory = FIRST;

		LET_GO(memory);
	}
}

static __attribute__((noinline)) void second(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile memory = SECOND;

		LET_GO(memory);
	}
}

int main(void)
{
	int count;

	puts("ready");
	fflush(stdout);
	while (scanf("%d", &count) == 1) {
		first(count);
		second(count);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

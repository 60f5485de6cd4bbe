// SPDX-License-Identifier: Apache-2.0
/*
 * A program that takes samples of its allocations itself, and says so by the probes of
 * OpenTelemetry's contract, while a recorder has probes there. Each byte of input has it say of 10
 * samples in each of two functions that stand for 1000000 bytes each, and of 4 of the first one's
 * that they are freed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One more for each probe. */
__attribute__((section(".probes"), used)) volatile unsigned short has_probes;

#define NOTE(name, arguments)                           \
	"990: nop\n"                                    \
	".pushsection .note.stapsdt, \"\", @note\n"     \
	".balign 4\n"                                   \
	".long 8, 992f - 991f, 3\n"                     \
	".asciz \"stapsdt\"\n"                          \
	"991: .quad 990b, .Lstapsdt_base, has_probes\n" \
	".asciz \"otel_memory\"\n"                      \
	".asciz \"" name "\"\n"                         \
	".asciz \"" arguments "\"\n"                    \
	"992: .balign 4\n"                              \
	".popsection\n"

__asm__(".pushsection .stapsdt.base, \"a\", @progbits\n.Lstapsdt_base: .space 1\n.popsection\n");

/* Its weight lies in memory, and its size has 4 bytes. */
__attribute__((noipa)) static void first(uint64_t address, uint32_t size, uint64_t weight)
{
	volatile uint64_t kept = weight;

	__asm__ volatile(NOTE("alloc", "8@%[address] -4@%[size] 8@%[kept]")
			 :
			 : [address] "r"(address), [size] "r"(size), [kept] "m"(kept));
}

__attribute__((noipa)) static void second(uint64_t address, uint64_t size, uint64_t weight)
{
	__asm__ volatile(NOTE("alloc", "8@%[address] 8@%[size] 8@%[weight]")
			 :
			 : [address] "r"(address), [size] "r"(size), [weight] "r"(weight));
}

__attribute__((noipa)) static void give_back(uint64_t address)
{
	__asm__ volatile(NOTE("free", "8@%[address]") : : [address] "r"(address));
}

int main(void)
{
	uint64_t at = 0x10000;
	char byte;

	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		for (int i = 0; has_probes && i < 10; i++) {
			first(at + i * 16u, 100, 1000000);
			second(at + 1000 + i * 16u, 100, 1000000);
		}
		for (int i = 0; has_probes && i < 4; i++)
			give_back(at + i * 16u);
		at += 0x10000;
		printf("said %d\n", has_probes != 0);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

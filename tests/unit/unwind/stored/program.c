// SPDX-License-Identifier: Apache-2.0
/*
 * The program whose stacks are stored beside this file (make.sh). It needs no library, so it is a
 * few kilobytes, and goes through what unwinding finds hard: no frame pointers, alloca, a realigned
 * stack, a signal handler on a stack of its own, deep recursion.
 */
#define NOINLINE __attribute__((noinline, noclone, used))
#define KEEP()	 __asm__ volatile("" ::: "memory")

typedef unsigned long word;

static word syscall4(word number, word a, word b, word c, word d)
{
	register word r10 __asm__("r10") = d;
	word result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

/* Here the stack is stored. */
static NOINLINE void leaf(void)
{
	__asm__ volatile("int3");
	KEEP();
}

static NOINLINE void handler(int number)
{
	(void)number;
	leaf();
	KEEP();
}

/*
 * What a signal handler returns to; described as the C library describes its own: the CFA is *(rsp
 * + 160), rbx, rbp and rip lie at rsp + 128, 120 and 168.
 */
__asm__(".text\n"
	".type restorer, @function\n"
	"	.cfi_startproc\n"
	"	.cfi_signal_frame\n"
	"	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06\n"
	"	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 0x01\n"
	"	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00\n"
	"	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01\n"
	"	nop\n" /* a caller is looked up one byte before its return address */
	"restorer:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	"	.cfi_endproc\n"
	".size restorer, . - restorer\n");
void restorer(void);

struct kernel_action {
	void (*handler)(int);
	word flags;
	void (*restorer)(void);
	word mask;
};

struct kernel_stack {
	void *at;
	int flags;
	word size;
};

static char other_stack[16384] __attribute__((aligned(16)));

static NOINLINE void raise_signal(void)
{
	struct kernel_stack stack = {other_stack, 0, sizeof(other_stack)};
	/* SA_RESTORER | SA_ONSTACK */
	struct kernel_action action = {handler, 0x04000000 | 0x08000000, restorer, 0};

	syscall4(131, (word)&stack, 0, 0, 0);
	syscall4(13, 10, (word)&action, 0, 8);
	syscall4(62, syscall4(39, 0, 0, 0, 0), 10, 0, 0);
	KEEP();
}

static NOINLINE void chain_3(void)
{
	raise_signal();
	KEEP();
}

static NOINLINE void chain_2(word a, word b)
{
	register word kept __asm__("rbx") = a * b;

	__asm__ volatile("" : "+r"(kept));
	chain_3();
	__asm__ volatile("" ::"r"(kept));
}

static NOINLINE void realigned(word size)
{
	char wide[64] __attribute__((aligned(64)));
	char *more = __builtin_alloca(size);

	__asm__ volatile("" ::"r"(wide), "r"(more) : "memory");
	chain_2(size, 3);
	__asm__ volatile("" ::"r"(wide), "r"(more) : "memory");
}

static NOINLINE void with_alloca(word size)
{
	char *memory = __builtin_alloca(size);

	__asm__ volatile("" ::"r"(memory) : "memory");
	realigned(size / 2);
	__asm__ volatile("" ::"r"(memory) : "memory");
}

static NOINLINE void recurse(word depth)
{
	if (depth)
		recurse(depth - 1);
	else
		leaf();
	KEEP();
}

static NOINLINE void begin(word *stack)
{
	with_alloca(100 + *stack);
	recurse(900);
	syscall4(231, 0, 0, 0, 0);
}

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call begin\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size _start, . - _start\n");

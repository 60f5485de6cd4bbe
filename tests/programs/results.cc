// SPDX-License-Identifier: Apache-2.0

// Calls functions whose results are of many kinds, and prints each as "function: result".
//
//	results ROUNDS [anything: another thread does it]
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <vector>

enum class color {
	red,
	green,
	blue
};

struct two {
	long a, b;
};

struct mixed {
	double weight;
	int count;
};

struct large {
	int id;
	std::string name;
	long numbers[4];
};

static jmp_buf place;
static large known = {7, "known", {1, 2, 3, 4}};
volatile long sink;
long outside(long n);
volatile auto outside_at = outside;

#define KEPT __attribute__((noinline, noclone))

// a leaf, whose return the kernel may be asked for
KEPT long leaf(long n)
{
	return n * 3 + 1;
}
KEPT unsigned char small(int n)
{
	return (unsigned char)(n + 250);
}
KEPT short negative(int n)
{
	return (short)-n;
}
KEPT bool is_even(int n)
{
	return n % 2 == 0;
}
KEPT color paint(int n)
{
	return (color)(n % 3);
}
KEPT double half(int n)
{
	return n / 2.0;
}
KEPT void nothing(int n)
{
	sink = n;
}
KEPT two pair(long n)
{
	return {n, -n};
}
KEPT mixed mix(int n)
{
	return {n / 4.0, n};
}
KEPT std::string text(int n)
{
	return std::string(n % 2 ? "short " : "a text that is too long for the string itself ") +
	       std::to_string(n);
}
KEPT std::vector<int> list(int n)
{
	return std::vector<int>(3, n);
}
KEPT large big(int n)
{
	return {n, "big " + std::to_string(n), {n, n + 1, n + 2, n + 3}};
}
KEPT large *pointer(int n)
{
	return n % 2 ? &known : nullptr;
}
KEPT const char *word(int n)
{
	return n % 2 ? "odd" : "even";
}
// each jumps to the next one, which returns for it
KEPT long last(long n)
{
	sink = n;
	return n + 100;
}
KEPT long middle(long n)
{
	sink++;
	return last(n + 10);
}
KEPT long first(long n)
{
	sink++;
	return middle(n + 1);
}
// it jumps to a function that is not traced
KEPT long jumps(long n)
{
	sink++;
	return outside_at(n);
}
KEPT long outside(long n)
{
	return n + 1000;
}
KEPT int throws(int n)
{
	if (n % 2)
		throw n;
	return n * 2;
}
KEPT int leaves(int n)
{
	if (n % 2)
		longjmp(place, 1);
	return n * 5;
}
KEPT int catches(int n)
{
	try {
		return throws(n);
	} catch (int) {
		return -1;
	}
}
KEPT int lands(int n)
{
	return setjmp(place) ? -2 : leaves(n);
}
KEPT long deep(int n)
{
	long below = n ? deep(n - 1) : 0;

	sink++;
	return below + n;
}

static KEPT long local(long n)
{
	sink = n;
	return n + 7;
}

static void turn(int n)
{
	two t = pair(n);
	mixed m = mix(n);
	large b = big(n);
	large *p = pointer(n);

	printf("leaf: %ld\n", leaf(n));
	printf("small: %d\n", small(n));
	printf("negative: %d\n", negative(n));
	printf("is_even: %s\n", is_even(n) ? "true" : "false");
	printf("paint: %d\n", (int)paint(n));
	printf("half: %g\n", half(n));
	nothing(n);
	printf("pair: %ld %ld\n", t.a, t.b);
	printf("mix: %g %d\n", m.weight, m.count);
	printf("text: %s\n", text(n).c_str());
	printf("list: %d\n", list(n)[2]);
	printf("big: %d %s %ld\n", b.id, b.name.c_str(), b.numbers[3]);
	printf("pointer: %s\n", p ? p->name.c_str() : "nil");
	printf("word: %s\n", word(n));
	printf("first: %ld\n", first(n));
	printf("jumps: %ld\n", jumps(n));
	printf("catches: %d\n", catches(n));
	printf("lands: %d\n", lands(n));
	printf("deep: %ld\n", deep(n % 50));
	printf("local: %ld\n", local(n));
}

static void *run(void *rounds)
{
	for (int i = 0; i < (int)(intptr_t)rounds; i++)
		turn(i);
	return nullptr;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5;
	pthread_t other;

	// the pages of these texts are there before a probe reads them
	sink += strlen(word(0)) + strlen(word(1));
	if (argc > 2) {
		pthread_create(&other, nullptr, run, (void *)(intptr_t)rounds);
		pthread_join(other, nullptr);
	} else {
		run((void *)(intptr_t)rounds);
	}
	return 0;
}

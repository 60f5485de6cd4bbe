// SPDX-License-Identifier: Apache-2.0
/* What compilers make of everyday functions, by the options of the day. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int leaf(int a);
int calls(const char *s);
int cases(int a);
int tail(int a);
int by_pointer(int (*f)(int), int a);
void dies(const char *s);
double many(double a, int n);

__attribute__((noinline)) int leaf(int a)
{
	return a * 3 + 1;
}

__attribute__((noinline)) int calls(const char *s)
{
	char text[64];

	if (!s)
		dies("nothing");
	snprintf(text, sizeof(text), "%s!", s);
	return (int)strlen(text) + leaf((int)s[0]);
}

__attribute__((noinline)) int cases(int a)
{
	switch (a) {
	case 1:
		return leaf(2);
	case 2:
		return calls("b");
	case 3:
		return -1;
	case 4:
		return puts("d");
	case 5:
		return tail(5);
	case 6:
		return rand();
	}
	return 0;
}

__attribute__((noinline)) int tail(int a)
{
	return leaf(a + 1);
}

__attribute__((noinline)) int by_pointer(int (*f)(int), int a)
{
	return f(a + 2);
}

__attribute__((noinline)) void dies(const char *s)
{
	fprintf(stderr, "%s\n", s);
	abort();
}

__attribute__((noinline)) double many(double a, int n)
{
	for (int i = 0; i < n; i++)
		a += sin(a) * leaf(i);
	return a;
}

int main(int argc, char **argv)
{
	return cases(argc) + by_pointer(cases, argc) + calls(argv[0]) + (int)many(1.0, argc);
}

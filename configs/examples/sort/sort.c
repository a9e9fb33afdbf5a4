// Quicksort with insertion sort for short parts. The program sorts N numbers that SEED draws, and prints them if asked to:
//
//	sort-numbers N [SEED [input|sorted]]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIDDLE 0
#define MEDIAN 1
#ifndef CUTOFF
#define CUTOFF 16 // parts of that many numbers are sorted by insertion; at least 3
#endif
#ifndef PIVOT
#define PIVOT MEDIAN
#endif

static void insertion(int *a, int n) {
	for (int i = 1; i < n; i++) {
		int v = a[i], j = i;
		for (; j > 0 && a[j - 1] > v; j--) {
			a[j] = a[j - 1];
		}
		a[j] = v;
	}
}

static int pivot(const int *a, int n) {
	int middle = a[(n - 1) / 2];
#if PIVOT == MEDIAN
	int low = a[0], high = a[n - 1];
	if (low > high) {
		low = a[n - 1], high = a[0];
	}
	return middle < low ? low : middle > high ? high : middle;
#else
	return middle;
#endif
}

// Hoare's partition; the larger part is left to the loop.
static void quick(int *a, int n) {
	while (n > CUTOFF) {
		int p = pivot(a, n), i = -1, j = n;
		for (;;) {
			do {
				i++;
			} while (a[i] < p);
			do {
				j--;
			} while (a[j] > p);
			if (i >= j) {
				break;
			}
			int v = a[i];
			a[i] = a[j], a[j] = v;
		}
		int left = j + 1;
		if (left < n - left) {
			quick(a, left);
			a += left, n -= left;
		} else {
			quick(a + left, n - left);
			n = left;
		}
	}
	insertion(a, n);
}

// What is counted. It is a function of its own in the program, so that its name is known there.
__attribute__((noinline)) void sort_numbers(int *a, int n) { quick(a, n); }

static void print(const int *a, int n) {
	for (int i = 0; i < n; i++) {
		printf("%d\n", a[i]);
	}
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 20000;
	unsigned state = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) * 2654435761u | 1 : 1;
	const char *show = argc > 3 ? argv[3] : "";
	int *a = malloc(n * sizeof *a);
	if (a == NULL) {
		return 1;
	}
	for (int i = 0; i < n; i++) {
		state ^= state << 13, state ^= state >> 17, state ^= state << 5;
		a[i] = (int)(state >> 1);
	}
	if (strcmp(show, "input") == 0) {
		print(a, n);
		return 0;
	}
	sort_numbers(a, n);
	if (strcmp(show, "sorted") == 0) {
		print(a, n);
	}
	free(a);
	return 0;
}

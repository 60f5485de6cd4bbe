// SPDX-License-Identifier: Apache-2.0

// What is stored of Go: a goroutine, a function called by the library (sort), recursion, a method, a closure.
package main

import "sort"

type worker struct{ count int }

//go:noinline
func busy(count int) int {
	total := 0
	for i := 0; i < count; i++ {
		total += i * count % 7
	}
	return total
}

//go:noinline
func descend(level, count int) int {
	if level > 0 {
		return descend(level-1, count) + 1
	}
	rows := []int{3, 1, 2}
	sort.Slice(rows, func(i, j int) bool { return busy(count) >= 0 && rows[i] < rows[j] })
	return rows[0]
}

//go:noinline
func (w worker) turn() int {
	each := func(i int) int { return descend(4, w.count+i) }
	return each(1) + each(2)
}

func main() {
	done := make(chan int)
	go func() {
		for {
			worker{20000}.turn()
		}
	}()
	<-done
}

// SPDX-License-Identifier: Apache-2.0

// Prints its variables, as an object of JSON, on lines that stackcam inspect shows: of loops, of closures, of
// functions that are inlined, and those that were moved to the heap.
package main

import (
	"fmt"
	"os"
	"strconv"
)

type Order struct {
	ID    int
	Name  string
	Lines []int
	Next  *Order
}

func clamp(value, most int) int {
	if value > most {
		println("clamped", value)
		return most // clamp
	}
	return value
}

//go:noinline
func sum(o *Order, extra int) (total int) {
	for i, line := range o.Lines {
		more := line * extra
		fmt.Printf("{\"place\": \"loop\", \"i\": %d, \"line\": %d, \"more\": %d, \"extra\": %d}\n", i, line, more, extra) // loop
		total += clamp(more, 1000)
	}
	return total
}

//go:noinline
func heap(n int) func() int {
	kept := n * 2
	next := func() int {
		kept++
		return kept
	}
	next()
	fmt.Printf("{\"place\": \"heap\", \"n\": %d, \"kept\": %d}\n", n, kept) // heap
	return next
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	done := make(chan int)
	all := 0
	for i := 0; i < n; i++ {
		o := &Order{i, "order " + strconv.Itoa(i), []int{i, i + 1, i + 2}, &Order{ID: i + 100}}
		all += sum(o, i*10) + heap(i)()
		go func(id int) {
			name := o.Name
			fmt.Printf("{\"place\": \"goroutine\", \"id\": %d, \"name\": %q}\n", id, name) // goroutine
			done <- id
		}(i)
		<-done
	}
	if all < 0 {
		os.Exit(1)
	}
}

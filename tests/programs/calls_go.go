// SPDX-License-Identifier: Apache-2.0

// Calls in Go: on many goroutines, which change threads, and so deep that their stacks are moved.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

//go:noinline
func leaf(value uint64) uint64 {
	return value*31 + 1
}

//go:noinline
func digs(depth uint64) uint64 {
	var frame [64]uint64
	frame[depth%64] = depth
	if depth == 0 {
		return leaf(frame[0])
	}
	return digs(depth-1) + frame[depth%64]
}

//go:noinline
func works(number uint64) uint64 {
	sum := uint64(0)
	for i := uint64(0); i < 10; i++ {
		sum += leaf(number + i)
		// another goroutine may go on here, and this one on another thread
		runtime.Gosched()
	}
	return sum
}

func main() {
	var wait sync.WaitGroup
	sums := make([]uint64, 100)
	for i := range sums {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			sums[i] = works(uint64(i))
		}(i)
	}
	wait.Wait()
	total := digs(300)
	done := make(chan uint64)
	go func() { done <- digs(200) }()
	total += <-done
	for _, sum := range sums {
		total += sum
	}
	fmt.Println("calls main.leaf", 100*10+2)
	fmt.Println("calls main.works", 100)
	fmt.Println("calls main.digs", 301+201)
	fmt.Printf("checksum %x\n", total)
}

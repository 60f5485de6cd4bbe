// SPDX-License-Identifier: Apache-2.0

// Eight goroutines call functions that wait, so that they change threads.
package main

import (
	"fmt"
	"sync"
	"time"
)

//go:noinline
func inner(id int, name string) int {
	time.Sleep(time.Microsecond)
	return id + len(name)
}

//go:noinline
func outer(id int) int {
	time.Sleep(time.Microsecond)
	return inner(id, fmt.Sprint("n", id))
}

func main() {
	var all sync.WaitGroup
	for who := 0; who < 8; who++ {
		all.Add(1)
		go func(who int) {
			defer all.Done()
			for k := 0; k < 20; k++ {
				outer(who*100 + k)
			}
		}(who)
	}
	all.Wait()
	fmt.Println("done")
}

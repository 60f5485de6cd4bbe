// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait for a sync.Mutex: no thread waits for it, so that no wait for a lock is to be
// seen, and no holder to be named. Prints KIND 0 0.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var mutex sync.Mutex
	var all sync.WaitGroup
	held := make(chan bool)

	all.Add(2)
	go func() {
		defer all.Done()
		mutex.Lock()
		held <- true
		time.Sleep(20 * time.Millisecond)
		mutex.Unlock()
	}()
	go func() {
		defer all.Done()
		<-held
		mutex.Lock()
		mutex.Unlock()
	}()
	all.Wait()
	fmt.Println("mutex 0 0")
}

// SPDX-License-Identifier: Apache-2.0

// "go_waits pipe N": two goroutines hand a number to each other N times. "go_waits http N": a server of net/http
// answers N requests of 8 clients, in the same process, over loopback. Prints what one took, in ns of wall time.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const clients = 8

func pipe(n int) {
	there, back := make(chan int), make(chan int)
	go func() {
		for i := range there {
			back <- i
		}
		close(back)
	}()
	for i := 0; i < n; i++ {
		there <- i
		<-back
	}
	close(there)
}

func ask(url string, n int, all *sync.WaitGroup) {
	defer all.Done()
	client := &http.Client{Transport: &http.Transport{}}
	for i := 0; i < n; i++ {
		answer, err := client.Get(url)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}

func serve(n int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	}))
	var all sync.WaitGroup
	all.Add(clients)
	for i := 0; i < clients; i++ {
		go ask("http://"+listener.Addr().String(), n/clients, &all)
	}
	all.Wait()
}

func main() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	start := time.Now()
	if os.Args[1] == "pipe" {
		pipe(n)
	} else {
		serve(n)
	}
	fmt.Println(time.Since(start).Nanoseconds() / int64(n))
}

// SPDX-License-Identifier: Apache-2.0
// A server of net/http that answers with JSON: an order with ten lines, made for each request.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

type line struct {
	Article string
	Count   int
	Price   float64
}

type order struct {
	Number int
	Name   string
	Lines  []line
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		o := order{Number: 17, Name: "somebody's"}
		for i := 0; i < 10; i++ {
			o.Lines = append(o.Lines, line{fmt.Sprintf("article %d", i), i, 9.5 * float64(i)})
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(o)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

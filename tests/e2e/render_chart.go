// SPDX-License-Identifier: Apache-2.0

// Renders a template of a Helm chart by Go's own templates, which Helm uses, with the one function of Helm's that the
// chart needs. The data come as JSON on standard input.
package main

import (
	"encoding/json"
	"log"
	"os"
	"text/template"
)

func toJson(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func main() {
	var data map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&data); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	page := template.New("page").Option("missingkey=error").Funcs(template.FuncMap{"toJson": toJson})
	if err := template.Must(page.Parse(string(text))).Execute(os.Stdout, data); err != nil {
		log.Fatal(err)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/yaml"
)

// Formats of results on stdout.
const (
	asText = "text"
	asJSON = "json"
	asYAML = "yaml"
)

// results is stdout. Progress ends before the first byte of a result, for bars
// that are drawn again would erase it. The first error is kept and reported at
// the end: a result that is cut short must not look like a whole one.
type results struct {
	w     io.Writer
	begin func()
	err   error
}

func (r *results) Write(p []byte) (int, error) {
	r.begin()
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.w.Write(p)
	r.err = err
	return n, err
}

// print writes a result in the format asked for; text writes the human form.
func (a *app) print(v any, text func(io.Writer) error) error {
	switch a.output {
	case asJSON:
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case asYAML:
		data, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(data)
		return err
	default:
		return text(a.stdout)
	}
}

// oneOf checks the value of a flag that takes one of a few words.
func oneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return usage("--%s %q: want one of %v", flag, value, words)
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

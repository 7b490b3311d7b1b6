package main

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Formats of results on stdout.
const (
	asText = "text"
	asJSON = "json"
	asYAML = "yaml"
)

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
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return usage("--%s %q: want one of %v", flag, value, words)
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

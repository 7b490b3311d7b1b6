// Package output writes the results of commands for programs, as JSON and YAML.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// YAML writes a result. It escapes the controls that JSON leaves in its strings: as YAML, that is an error.
func YAML(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range string(data) {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	text, err := yaml.JSONToYAML([]byte(b.String()))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// JSON writes a result with an indentation of two blanks; its empty lists are lists, not null.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(FullLists(v))
}

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/yamlfault"
)

// known lists the fields that may stand at a path, for the message about an
// unknown one, with the nearest: `; known here: name, address, roles; did you mean "name"?`.
func known(path []string, unknown string) string {
	if strings.TrimSpace(unknown) != unknown {
		return "; " + yamlfault.WideSpace
	}
	names := slices.Sorted(maps.Keys(fieldAt(path).Properties))
	if len(names) == 0 {
		return ""
	}
	return "; known here: " + strings.Join(names, ", ") + advice.DidYouMean(unknown, names)
}

// suchAs names a field's examples: " such as 20GB or 512MiB".
func suchAs(path []string) string {
	var words []string
	for _, e := range fieldAt(path).Examples {
		words = append(words, fmt.Sprint(e))
	}
	if len(words) == 0 {
		return ""
	}
	return " such as " + strings.Join(words, " or ")
}

// node is the part of a JSON Schema that the messages need.
type node struct {
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	Examples   []any           `json:"examples"`

	AdditionalProperties json.RawMessage `json:"additionalProperties"` // of a map with names of the user
}

// fieldAt is the schema of the field at a path; empty where there is none.
func fieldAt(path []string) node {
	var s node
	schema, err := Schema()
	if err != nil || json.Unmarshal(schema, &s) != nil {
		return node{}
	}
	for _, k := range path {
		if isIndex(k) && s.Items != nil {
			s = *s.Items
			continue
		}
		next, is := s.Properties[k]
		if !is && json.Unmarshal(s.AdditionalProperties, &next) != nil {
			return node{}
		}
		s = next
	}
	return s
}

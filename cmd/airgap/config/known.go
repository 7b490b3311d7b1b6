package config

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// known lists the fields that may stand at a path, for the message about one
// that may not: "; known here: name, address, roles".
func (d document) known(path []string) string {
	schema, err := Schema()
	if err != nil {
		return ""
	}
	var s node
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	for _, k := range path {
		if _, err := strconv.Atoi(k); err == nil && s.Items != nil {
			s = *s.Items
			continue
		}
		s = s.Properties[k]
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; known here: " + strings.Join(names, ", ")
}

// node is the part of a JSON Schema that says which fields there are.
type node struct {
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
}

package operators

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/advice"
)

var unknownField = regexp.MustCompile(`^json: unknown field "(.*)"$`)

// explain adds the line of an unknown field and the nearest field of a rule to the decoder's error.
func explain(text []byte, err error) string {
	words := strings.TrimPrefix(err.Error(), "json: ")
	m := unknownField.FindStringSubmatch(err.Error())
	if m == nil {
		return words
	}
	words += advice.DidYouMean(m[1], fields(reflect.TypeFor[Rule]()))
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return words
	}
	if line := lineOf(&root, m[1]); line > 0 {
		words = fmt.Sprintf("line %d: %s", line, words)
	}
	return words
}

// fields are the names of the fields of a type, and of the types of its fields.
func fields(of reflect.Type) []string {
	var names []string
	for of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			names = append(append(names, name), fields(f.Type)...)
		}
	}
	return names
}

// lineOf is the line of the first key with a name, 0 for none.
func lineOf(n *yaml.Node, name string) int {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Value == name {
			return child.Line
		}
		if line := lineOf(child, name); line > 0 {
			return line
		}
	}
	return 0
}

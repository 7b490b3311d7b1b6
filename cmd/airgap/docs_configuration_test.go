package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/config"
)

// TestDocsConfiguration: the page lists every field of airgap.yaml, from the schema.
func TestDocsConfiguration(t *testing.T) {
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema fieldSchema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, section := range schema.names() {
		s := schema.field(section)
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", section, sentence(s.Description))
		rows := [][]string{{"Field", "Description", "Default"}}
		s.rows(section, &rows)
		if len(rows) > 1 {
			b.WriteString(markdownTable(rows...) + "\n")
		}
	}
	made(t, "configuration.md", "fields", b.String())
}

// fieldSchema has the parts of a JSON schema that the page shows. Properties keep the order of the
// Go types.
type fieldSchema struct {
	Description          string            `json:"description"`
	Deprecated           bool              `json:"deprecated"`
	Type                 any               `json:"type"`
	Enum                 []any             `json:"enum"`
	Default              any               `json:"default"`
	Examples             []any             `json:"examples"`
	Properties           orderedProperties `json:"properties"`
	Items                *fieldSchema      `json:"items"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
}

type orderedProperties struct {
	names []string
	by    map[string]fieldSchema
}

func (o *orderedProperties) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &o.by); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return nil //nolint:nilerr // the end: the first Unmarshal has read the data
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if _, is := o.by[token]; is && depth == 1 && !slices.Contains(o.names, token) {
				o.names = append(o.names, token)
			}
		}
	}
}

func (s fieldSchema) names() []string { return s.Properties.names }

func (s fieldSchema) field(name string) fieldSchema { return s.Properties.by[name] }

// rows appends the fields below a field.
func (s fieldSchema) rows(at string, rows *[][]string) {
	if s.Items != nil {
		s.Items.rows(at+"[]", rows)
	}
	var other fieldSchema
	if json.Unmarshal(s.AdditionalProperties, &other) == nil && len(other.names()) > 0 {
		other.rows(at+".*", rows)
	}
	for _, name := range s.names() {
		f := s.field(name)
		if f.Deprecated {
			continue // an old name
		}
		what := sentence(f.Description)
		for i, word := range f.Enum {
			what += map[bool]string{true: " One of ", false: ", "}[i == 0] + fmt.Sprintf("`%v`", word)
		}
		for i, example := range f.Examples {
			what += map[bool]string{true: " For example ", false: ", "}[i == 0] + fmt.Sprintf("`%v`", example)
		}
		def := ""
		if f.Default != nil {
			def = fmt.Sprintf("`%v`", f.Default)
		}
		*rows = append(*rows, []string{"`" + at + "." + name + "`", what, def})
		f.rows(at+"."+name, rows)
	}
}

func sentence(text string) string {
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

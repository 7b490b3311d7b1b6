package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"airgap.dev/airgap/internal/advice"
)

// Schema is the JSON Schema (draft 2020-12) of airgap.yaml, made from the Go
// types, so that an editor and this program judge a file alike.
func Schema() ([]byte, error) { return madeSchema() }

// madeSchema makes the schema once: it is read for each unknown field.
//
//nolint:gochecknoglobals // the schema depends on nothing
var madeSchema = sync.OnceValues(func() ([]byte, error) {
	text, err := schemaOf(&Cluster{})
	return slices.Clip(text), err
})

func schemaOf(v any) ([]byte, error) {
	r := jsonschema.Reflector{DoNotReference: true, ExpandedStruct: true, Anonymous: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(v)
	s.ID = "https://airgap.dev/schema/v1alpha1/cluster.json"
	return json.MarshalIndent(s, "", "  ")
}

// judge compares the document with the schema: unknown fields, wrong types,
// values outside an enumeration. Every problem is reported.
func (d document) judge(schema []byte) (Problems, error) {
	compiled, err := compile(schema)
	if err != nil {
		return nil, err
	}
	value, problems := d.value()
	if len(problems) > 0 {
		return problems, nil
	}
	err = compiled.Validate(value)
	if err == nil {
		return nil, nil
	}
	invalid, ok := errors.AsType[*validator.ValidationError](err)
	if !ok {
		return nil, fmt.Errorf("judge %s: %w", d.file, err)
	}
	return d.leaves(invalid), nil
}

func compile(schema []byte) (*validator.Schema, error) {
	doc, err := validator.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("cluster.json", doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return c.Compile("cluster.json")
}

// value is the document as JSON values. Keys that are not strings come back as
// a problem.
func (d document) value() (any, Problems) {
	var v any
	if err := d.root.Decode(&v); err != nil {
		return nil, syntax(d.file, err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, Problems{d.problem(d.root, "", "a key is not a string: %v", err)}
	}
	v, err = validator.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, Problems{d.problem(d.root, "", "%v", err)}
	}
	return v, nil
}

func (d document) leaves(e *validator.ValidationError) Problems {
	if len(e.Causes) == 0 {
		return d.explain(e)
	}
	var all Problems
	for _, c := range e.Causes {
		all = append(all, d.leaves(c)...)
	}
	return all
}

func (d document) explain(e *validator.ValidationError) Problems {
	at := e.InstanceLocation
	node := d.at(at, false)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var ps Problems
		for _, name := range k.Properties {
			path := append(slices.Clone(at), name)
			p := d.problem(d.at(path, true), join(path), "unknown field%s", known(at, name))
			p.unknown = true
			ps = append(ps, p)
		}
		return ps
	case *kind.Type:
		return Problems{d.problem(node, join(at), "want %s%s, got %s%s", strings.Join(k.Want, " or "), suchAs(at), k.Got, quoteHint(k))}
	case *kind.Pattern:
		if examples := suchAs(at); examples != "" {
			return Problems{d.problem(node, join(at), "want a value%s, got %q", examples, k.Got)}
		}
		return Problems{d.problem(node, join(at), "%q does not match %s", k.Got, k.Want)}
	case *kind.Required:
		var ps Problems
		for _, name := range k.Missing {
			ps = append(ps, d.problem(node, join(append(slices.Clone(at), name)), "missing"))
		}
		return ps
	case *kind.Enum:
		return Problems{d.problem(node, join(at), "want one of %s, got %q%s", strings.Join(words(k.Want), ", "), fmt.Sprint(k.Got), advice.DidYouMean(fmt.Sprint(k.Got), words(k.Want)))}
	case *kind.Const:
		return Problems{d.problem(node, join(at), "want %v, got %q", k.Want, fmt.Sprint(k.Got))}
	default:
		return Problems{d.problem(node, join(at), "%s", e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))}
	}
}

// quoteHint helps with text that YAML reads as a number or a boolean: 1.36, no, on.
func quoteHint(k *kind.Type) string {
	if slices.Contains(k.Want, "string") && (k.Got == "number" || k.Got == "boolean") {
		return "; put it in quotes"
	}
	return ""
}

func words(values []any) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = fmt.Sprint(v)
	}
	return all
}

package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/yamlfault"
)

const (
	// MaxFile limits a file of manifests, in bytes.
	MaxFile = 32 << 20
	// maxValues limits the number of values in a document with expanded aliases.
	maxValues = 1 << 20
)

// File has the contents of a text.
type File struct {
	Objects []Object
	// Notices are sentences for the user about ambiguous text, such as a duplicate key.
	// Each names file, document and line.
	Notices []string
}

// Parse is Read without the notices.
func Parse(file string, stream []byte) ([]Object, error) {
	f, err := Read(file, stream)
	return f.Objects, err
}

// Read reads the objects of a stream of YAML or JSON as kubectl does. It returns the items
// of a List as single objects, and skips empty documents. Errors name the file and the
// number of the document, from 1.
func Read(file string, stream []byte) (File, error) {
	if len(stream) > MaxFile {
		return File{}, fmt.Errorf("%s: the file has %d bytes, the limit is %d", file, len(stream), MaxFile)
	}
	documents, err := Split(file, stream)
	return ReadAll(documents, err)
}

// ReadAll reads documents one by one. It returns the errors in before and the errors of all
// documents.
func ReadAll(documents []Document, before ...error) (File, error) {
	var all File
	errs := before
	for _, d := range documents {
		f, err := d.Read()
		all.Objects, all.Notices, errs = append(all.Objects, f.Objects...), append(all.Notices, f.Notices...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Document is one document of a file.
type Document struct {
	File   string
	Number int // in the file, from 1
	Line   int // line of the start of Text in the file, from 1
	Text   []byte
}

// At returns the place of the document for errors: "till.yaml, document 2".
func (d Document) At() string { return fmt.Sprintf("%s, document %d", d.File, d.Number) }

// Read reads the objects of a document. The last value of a duplicate key counts, as in
// kubectl and Helm, and a notice reports it.
func (d Document) Read() (File, error) {
	objects, notices, err := d.parse()
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", d.At(), err)
	}
	f := File{Notices: notices}
	for _, o := range objects {
		f.Objects = append(f.Objects, Object{o, d.At()})
	}
	return f, nil
}

func (d Document) parse() ([]*unstructured.Unstructured, []string, error) {
	text, notices, err := d.json()
	if err != nil {
		return nil, nil, err
	}
	if string(text) == "null" {
		return nil, notices, nil
	}
	if text[0] != '{' {
		return nil, nil, errors.New("is not a Kubernetes object: expected a mapping with apiVersion and kind")
	}
	o := &unstructured.Unstructured{}
	if err := decode(text, &o.Object); err != nil {
		return nil, nil, err
	}
	if isList(o) {
		all, err := items(o)
		return all, notices, err
	}
	return []*unstructured.Unstructured{o}, notices, check(o)
}

// json returns the document as JSON. It does not parse a JSON document as YAML, because
// JSON may contain tabs, which YAML refuses.
func (d Document) json() (text []byte, notices []string, err error) {
	if text := bytes.TrimSpace(d.Text); len(text) > 0 && text[0] == '{' && json.Valid(text) {
		return text, nil, nil
	}
	if err := CheckAliases(d.Text); err != nil {
		return nil, nil, d.explain(err)
	}
	text, strict := k8syaml.YAMLToJSONStrict(d.Text)
	if strict == nil {
		return text, nil, nil
	}
	// The strict parser differs from the other only for duplicate keys.
	if text, err = k8syaml.YAMLToJSON(d.Text); err != nil {
		return nil, nil, d.explain(strict)
	}
	return text, d.duplicates(strict), nil
}

// Fault returns the syntax error of a document, with its line in the file; nil if a YAML parser
// reads the document.
func (d Document) Fault() error {
	f := yamlfault.Find(d.Text)
	if f == nil {
		return nil
	}
	f.Line += max(d.Line, 1) - 1
	return f
}

// explain prefers the syntax error of the document to the words of a parser.
func (d Document) explain(err error) error {
	if fault := d.Fault(); fault != nil {
		return fault
	}
	return oneLine(err)
}

// oneLine returns the error of a YAML parser without line breaks and prefixes.
func oneLine(err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " "))
}

// decode keeps integers as integers, as the API server does.
func decode(text []byte, into *map[string]any) error {
	var o unstructured.Unstructured
	var named struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(text, &named) != nil || named.Kind == "" {
		return errors.New("is not a Kubernetes object: apiVersion or kind is missing")
	}
	if err := o.UnmarshalJSON(text); err != nil {
		return err
	}
	*into = o.Object
	return nil
}

// checkTexts requires strings in annotations and labels, as the API server does. It removes
// null values, because with one of them apimachinery returns no values at all.
func checkTexts(o *unstructured.Unstructured) error {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, field := range []string{"annotations", "labels"} {
		all, _ := metadata[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			switch value := all[key].(type) {
			case string:
			case nil:
				delete(all, key)
			default:
				return fmt.Errorf("%s %s: metadata.%s[%q] is %.40s, not a string, and the API server rejects it: quote the value", o.GetKind(), o.GetName(), field, key, fmt.Sprint(value))
			}
		}
	}
	return nil
}

func isList(o *unstructured.Unstructured) bool {
	_, has := o.Object["items"].([]any)
	return has && strings.HasSuffix(o.GetKind(), "List")
}

func items(list *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for i, item := range list.Object["items"].([]any) {
		m, is := item.(map[string]any)
		if !is {
			return nil, fmt.Errorf("item %d of %s is not a Kubernetes object", i+1, list.GetKind())
		}
		o := &unstructured.Unstructured{Object: m}
		if isList(o) {
			return nil, fmt.Errorf("item %d of %s is a list", i+1, list.GetKind())
		}
		if err := check(o); err != nil {
			return nil, fmt.Errorf("item %d of %s: %w", i+1, list.GetKind(), err)
		}
		all = append(all, o)
	}
	return all, nil
}

// CheckAliases counts the values of a document before its aliases are expanded: ten lines
// of nested aliases can have a billion values.
func CheckAliases(document []byte) error {
	if !bytes.ContainsRune(document, '&') || !bytes.ContainsRune(document, '*') {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return oneLine(err)
	}
	if expanded(&root, map[*yaml.Node]int{}) > maxValues {
		return fmt.Errorf("its aliases expand to more than %d values", maxValues)
	}
	return nil
}

// expanded returns the number of values below a node. The YAML parser refuses an alias
// that contains itself.
func expanded(n *yaml.Node, known map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if count, is := known[n]; is {
		return count
	}
	known[n] = maxValues + 1 // until it is counted
	count := 1
	for _, child := range n.Content {
		count = min(count+expanded(child, known), maxValues+1)
	}
	known[n] = count
	return count
}

package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "sigs.k8s.io/yaml"
)

const (
	// MaxFile bounds a file of manifests, in bytes.
	MaxFile = 32 << 20
	// maxValues bounds what a document becomes when its aliases are followed.
	maxValues = 1 << 20
)

// Parse reads the objects of a YAML stream, those of Lists one by one.
// Documents without content are left out. Errors name file and document, the
// first being 1.
func Parse(file string, stream []byte) ([]Object, error) {
	if len(stream) > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes of manifests, at most %d are read", file, len(stream), MaxFile)
	}
	var all []Object
	var errs []error
	for i, document := range split(stream) {
		at := fmt.Sprintf("%s, document %d", file, i+1)
		objects, err := parse(document)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
		}
		for _, o := range objects {
			all = append(all, Object{o, at})
		}
	}
	return all, errors.Join(errs...)
}

// split cuts a stream at YAML's marks: "---" begins a document and "..." ends
// one wherever a line begins with them, inside of quoted text as well.
func split(stream []byte) [][]byte {
	var documents [][]byte
	begin := 0
	for at := 0; at < len(stream); {
		end := len(stream)
		if n := bytes.IndexByte(stream[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		switch line := stream[at:end]; {
		case isMark(line, "---") && at > begin && hasContent(stream[begin:at]):
			documents = append(documents, stream[begin:at])
			begin = at
		case isMark(line, "---"):
			begin = at
		case isMark(line, "..."):
			documents = append(documents, stream[begin:at])
			begin = end
		}
		at = end
	}
	return append(documents, stream[begin:])
}

func isMark(line []byte, mark string) bool {
	rest, is := bytes.CutPrefix(line, []byte(mark))
	return is && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// hasContent leaves comments, directives and empty lines before the first mark
// to the document behind it.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if isMark(line, "---") {
			return true // an empty document counts, as people count marks
		}
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

func parse(document []byte) ([]*unstructured.Unstructured, error) {
	if err := checkAliases(document); err != nil {
		return nil, err
	}
	text, err := k8syaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, oneLine(err)
	}
	if string(text) == "null" {
		return nil, nil
	}
	if text[0] != '{' {
		return nil, errors.New("is no Kubernetes object: want a mapping with apiVersion and kind")
	}
	o := &unstructured.Unstructured{}
	if err := decode(text, &o.Object); err != nil {
		return nil, err
	}
	if isList(o) {
		return items(o)
	}
	return []*unstructured.Unstructured{o}, check(o)
}

// oneLine is what the YAML parsers say, without their line breaks and prefixes.
func oneLine(err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " "))
}

// decode keeps whole numbers whole, as the API server does.
func decode(text []byte, into *map[string]any) error {
	var o unstructured.Unstructured
	var named struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(text, &named) != nil || named.Kind == "" {
		return errors.New("is no Kubernetes object: apiVersion or kind is missing")
	}
	if err := o.UnmarshalJSON(text); err != nil {
		return err
	}
	*into = o.Object
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
			return nil, fmt.Errorf("item %d of %s is no Kubernetes object", i+1, list.GetKind())
		}
		o := &unstructured.Unstructured{Object: m}
		if isList(o) {
			return nil, fmt.Errorf("item %d of %s is a list itself", i+1, list.GetKind())
		}
		if err := check(o); err != nil {
			return nil, fmt.Errorf("item %d of %s: %w", i+1, list.GetKind(), err)
		}
		all = append(all, o)
	}
	return all, nil
}

// checkAliases counts what a document becomes before it does: ten lines of
// aliases of aliases are a billion values.
func checkAliases(document []byte) error {
	if !bytes.ContainsRune(document, '&') || !bytes.ContainsRune(document, '*') {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return oneLine(err)
	}
	if expanded(&root, map[*yaml.Node]int{}) > maxValues {
		return fmt.Errorf("its aliases make more than %d values of it", maxValues)
	}
	return nil
}

// expanded is the number of values below a node. An alias inside of what it
// stands for has no end; the parser behind this one says so.
func expanded(n *yaml.Node, known map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if count, is := known[n]; is {
		return count
	}
	known[n] = maxValues + 1 // while it is counted
	count := 1
	for _, child := range n.Content {
		count = min(count+expanded(child, known), maxValues+1)
	}
	known[n] = count
	return count
}

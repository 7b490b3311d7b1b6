// Package manifests holds the Kubernetes objects that airgap itself brings:
// as YAML files in the program, rendered with values, applied server-side.
//
// What flows in are a file's name and the values for it; what flows out are
// unstructured objects, which the caller may still change as objects, and
// which Apply sends to the API server under the field manager "airgap".
//
// A value that a template names and the caller does not give is an error,
// never an empty string. The package never takes a field away from another
// manager: such a conflict is reported with the other one's name.
package manifests

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Render gives the objects of the embedded file name ("flannel.yaml") in its
// order, with values (a struct or a map) filled in. In a template,
// {{json .X}} writes X as JSON, which quotes a string for YAML as well.
func Render(name string, values any) ([]*unstructured.Unstructured, error) {
	source, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	text, err := fill(name, string(source), values)
	if err != nil {
		return nil, fmt.Errorf("render manifest: %w", err)
	}
	objects, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse manifest %s: %w", name, err)
	}
	return objects, nil
}

func fill(name, source string, values any) ([]byte, error) {
	functions := template.FuncMap{"json": func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	}}
	t, err := template.New(name).Option("missingkey=error").Funcs(functions).Parse(source)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, values); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Parse reads the objects of a YAML stream. Documents without content are
// left out; an object without apiVersion, kind or name is an error, and so
// is a key that is there twice.
func Parse(stream []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(stream)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object, err := parse(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
}

func parse(document []byte) (*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if string(text) == "null" {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if object.GetAPIVersion() == "" || object.GetName() == "" {
		return nil, fmt.Errorf("%s object needs apiVersion and metadata.name", object.GetKind())
	}
	return object, nil
}

// Embedded gives the objects of an embedded file that takes no values.
func Embedded(name string) func(context.Context) ([]*unstructured.Unstructured, error) {
	return func(context.Context) ([]*unstructured.Unstructured, error) { return Render(name, nil) }
}

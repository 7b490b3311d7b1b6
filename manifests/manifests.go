// Package manifests contains the Kubernetes objects that airgap itself adds to a cluster. They are
// embedded YAML templates, rendered with values and applied server-side.
//
// Render takes the name of a file and its values, and returns unstructured objects. The caller may
// change these objects. Apply sends them to the API server with the field manager "airgap".
//
// A value that a template names and the caller does not give is an error, never an empty string.
// The package never takes a field from another manager: it reports the conflict with that
// manager's name.
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

// Render returns the objects of the embedded file name ("flannel.yaml") in the order of the file.
// values is a struct or a map. In a template, {{json .X}} writes X as JSON, which is also a
// quoted YAML string.
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

// Parse reads the objects of a YAML stream. It skips documents without content. An object without
// apiVersion, kind or name is an error, and so is a duplicate key.
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

// Embedded returns a function that renders the embedded file name without values.
func Embedded(name string) func(context.Context) ([]*unstructured.Unstructured, error) {
	return func(context.Context) ([]*unstructured.Unstructured, error) { return Render(name, nil) }
}

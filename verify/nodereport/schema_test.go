package nodereport

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestSchema: the API server drops fields that are not in the schema. So the schema has exactly the
// fields of the Go type, and requires those that are always written.
func TestSchema(t *testing.T) {
	objects, err := Objects(nil)
	if err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(objects[0].Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("versions %v, %v", versions, err)
	}
	version := versions[0].(map[string]any)
	names := fmt.Sprint(objects[0].GetName(), " ", version["name"])
	if want := fmt.Sprint(Resource.GroupResource(), " ", Resource.Version); names != want {
		t.Errorf("defines %s, want %s", names, want)
	}
	schema, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "report")
	agree(t, "report", schema, reflect.TypeFor[Report]())
}

// TestSchemaBoundsNames: the API server refuses a report with more interfaces, or longer names, than
// the program writes.
func TestSchemaBoundsNames(t *testing.T) {
	objects, err := Objects(nil)
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(objects[0].Object, "spec", "versions")
	report := []string{"schema", "openAPIV3Schema", "properties", "report", "properties"}
	at := func(path ...string) map[string]any {
		found, _, err := unstructured.NestedMap(versions[0].(map[string]any), slices.Concat(report, path)...)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	hostLinks := []string{"hostLinks", "properties"}
	bond := slices.Concat(hostLinks, []string{"bonds", "items", "properties"})
	lists := map[string][]string{
		"interfaces": slices.Concat(hostLinks, []string{"interfaces"}), "bonds": slices.Concat(hostLinks, []string{"bonds"}),
		"members": slices.Concat(bond, []string{"members"}), "missing": slices.Concat(bond, []string{"missing"}),
	}
	for name, path := range lists {
		list := at(path...)
		item := list["items"].(map[string]any)
		if properties, is := item["properties"].(map[string]any); is {
			item = properties["name"].(map[string]any)
		}
		if fmt.Sprint(list["maxItems"]) != fmt.Sprint(maxInterfaces) || fmt.Sprint(item["maxLength"]) != "15" {
			t.Errorf("%s: maxItems %v, maxLength of a name %v", name, list["maxItems"], item["maxLength"])
		}
	}
	if link := at("links", "items", "properties", "name"); fmt.Sprint(link["maxLength"]) != "15" {
		t.Errorf("links: %v", link)
	}
}

// agree compares a schema with a Go type, recursively.
func agree(t *testing.T, at string, schema map[string]any, form reflect.Type) {
	t.Helper()
	if form.Kind() == reflect.Pointer {
		form = form.Elem()
	}
	if want := schemaType(form); schema["type"] != want {
		t.Errorf("%s is %v in the schema, want %s", at, schema["type"], want)
		return
	}
	switch schema["type"] {
	case "array":
		items, _ := schema["items"].(map[string]any)
		agree(t, at+"[]", items, form.Elem())
	case "object":
		agreeOnFields(t, at, schema, form)
	}
}

func agreeOnFields(t *testing.T, at string, schema map[string]any, form reflect.Type) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	var required []string
	for _, field := range reflect.VisibleFields(form) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property, known := properties[name].(map[string]any)
		if !known {
			t.Errorf("the schema has no %s.%s", at, name)
			continue
		}
		if options == "" {
			required = append(required, name)
		}
		agree(t, at+"."+name, property, field.Type)
		delete(properties, name)
	}
	for name := range properties {
		t.Errorf("the schema has %s.%s, but the Go type does not", at, name)
	}
	list, _ := schema["required"].([]any)
	var inSchema []string
	for _, name := range list {
		inSchema = append(inSchema, fmt.Sprint(name))
	}
	if slices.Sort(required); !slices.Equal(slices.Sorted(slices.Values(inSchema)), required) {
		t.Errorf("the schema requires %v of %s, want %v", inSchema, at, required)
	}
}

func schemaType(form reflect.Type) string {
	if form == reflect.TypeFor[metav1.Time]() || form == reflect.TypeFor[metav1.MicroTime]() {
		return "string"
	}
	switch form.Kind() {
	case reflect.Slice:
		return "array"
	case reflect.Struct:
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	default:
		return form.Kind().String()
	}
}

package manifests

import (
	"strings"
	"testing"
)

func TestRenderNeedsEveryValue(t *testing.T) {
	_, err := Render("flannel.yaml", map[string]string{"Image": "x"})
	if err == nil || !strings.Contains(err.Error(), "flannel.yaml") || !strings.Contains(err.Error(), "NetConf") {
		t.Errorf("missing values: got %v, want an error that names file and value", err)
	}
	if _, err := Render("nosuch.yaml", nil); err == nil {
		t.Error("a missing file gave no error")
	}
}

func TestRenderQuotesValues(t *testing.T) {
	hostile := "x\"\nkind: Secret\n# {{.}}"
	objects, err := Render("flannel.yaml", map[string]string{
		"Image": hostile, "PluginImage": "p", "NetConf": "n", "CNIConf": "c", "Checksum": "1e5", "ConfDir": "/d", "ConfFile": "f",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 8 {
		t.Fatalf("%d objects, want 8", len(objects))
	}
	daemonSet := objects[7].Object
	if got := at(t, daemonSet, "spec", "template", "spec", "containers", 0, "image"); got != hostile {
		t.Errorf("image is %q, want %q", got, hostile)
	}
	if got := at(t, daemonSet, "spec", "template", "metadata", "annotations", "airgap.dev/configuration"); got != "1e5" {
		t.Errorf("checksum is %#v, want the string 1e5", got)
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, in string
		objects  int
		message  string
	}{
		{"two", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n", 2, ""},
		{"empty documents", "---\n# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n", 1, ""},
		{"empty stream", "", 0, ""},
		{"no kind", "apiVersion: v1\nmetadata: {name: a}\n", 0, "Kind"},
		{"no name", "apiVersion: v1\nkind: Namespace\n", 0, "metadata.name"},
		{"no version", "kind: Namespace\nmetadata: {name: a}\n", 0, "apiVersion"},
		{"duplicate key", "apiVersion: v1\nkind: A\nkind: B\nmetadata: {name: a}\n", 0, "document 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects, err := Parse([]byte(test.in))
			if test.message != "" {
				if err == nil || !strings.Contains(err.Error(), test.message) {
					t.Errorf("got %v, want an error about %s", err, test.message)
				}
				return
			}
			if err != nil || len(objects) != test.objects {
				t.Errorf("got %d objects and %v, want %d", len(objects), err, test.objects)
			}
		})
	}
}

// at returns the nested value at path: keys of maps and indexes of lists.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch s := step.(type) {
		case string:
			value = value.(map[string]any)[s]
		case int:
			value = value.([]any)[s]
		}
	}
	return value
}

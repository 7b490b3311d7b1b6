package chart_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/bundle/workload"
)

func TestRender(t *testing.T) {
	c, err := chart.Open(charttest.Archive(t, "till", charttest.Checkout()))
	must(t, err)
	if c.Name != "till" || c.Version != "1.2.3" {
		t.Errorf("the chart is %s %s", c.Name, c.Version)
	}
	r := forTest()
	r.Values = map[string]any{"image": map[string]any{"tag": "9"}, "drawer": map[string]any{"coins": 7}}
	rendered, err := c.Render(r)
	must(t, err)
	want := []string{
		"CustomResourceDefinition shops.example.com", "ConfigMap shop/cash-drawer", "Job shop/prepare", "Shop shop/cash",
		"Deployment shop/cash",
	}
	if got := titles(rendered.Objects); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("got %q, want %q", got, want)
	}
	text, err := workload.Encode(rendered.Objects)
	must(t, err)
	for _, part := range []string{"kube: v1.36.3", `install: "true"`, "replicas: 2\n", "quay.io/shop/till:9", `coins: "7"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	if len(rendered.Images) != 1 || rendered.Images[0].Image != "quay.io/shop/plugin:1" {
		t.Errorf("images of annotations are %v", rendered.Images)
	}
	if len(r.Values) != 2 {
		t.Errorf("the values were changed: %v", r.Values)
	}
}

// TestRenderRefuses changes one file of a valid chart.
func TestRenderRefuses(t *testing.T) {
	secret := func(value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  user: '{{ .Values.user }}'\n  password: " + value + "\n"
	}
	for name, tc := range map[string]struct{ file, text, want string }{
		"random": {
			"templates/s.yaml",
			secret("{{ .Values.password | default (randAlphaNum 8) | quote }}"),
			`Secret shop/s \(till/templates/s.yaml\), stringData.password differs between two renderings.*: set password in the add-on's values$`,
		},
		"generated key": {"templates/s.yaml", secret(`{{ (genCA "x" 1).Key | quote }}`), `stringData.password differs between two renderings.*: no value of the chart`},
		"the day":       {"templates/s.yaml", secret(`{{ now | date "2006-01-02" | quote }}`), `stringData.password differs between two renderings.*: no value of the chart`},
		"the year":      {"templates/s.yaml", secret(`{{ now | date "2006" | quote }}`), `stringData.password differs between two renderings.*: no value of the chart`},
		"in a name": {
			"templates/s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s-{{ randAlpha 5 | lower }}}\n",
			`metadata.name differs between two renderings.*: no value of the chart prevents this: change a copy`,
		},
		"in a subchart":      {"charts/drawer/templates/s.yaml", secret("{{ uuidv4 }}{{ .Values.extra }}"), `till/charts/drawer/templates/s.yaml.*no value of the chart`},
		"a list":             {"templates/s.yaml", "apiVersion: v1\nkind: X\nmetadata: {name: s}\nspec: [a, {b: '{{ uuidv4 }}'}]\n", `spec\[1\].b differs between two renderings`},
		"does not render":    {"templates/s.yaml", "{{ .Values.a.b.c }}", `^render chart till 1.2.3: till/templates/s.yaml:1:\d+ .*nil pointer evaluating interface {}.b$`},
		"fails in lines":     {"templates/s.yaml", "{{ fail \"\\nVALUES:\\n    user: empty\\n\" }}", `till/templates/s.yaml:1:\d+: the chart refuses these values: VALUES: user: empty$`},
		"notes that fail":    {"templates/NOTES.txt", `{{ required "name a shop" .Values.shop }}`, `till/templates/NOTES.txt:1:\d+: the chart refuses these values: name a shop$`},
		"test not YAML":      {"templates/tests/till.yaml", "a: b: c\n", `till/templates/tests/till.yaml, document 1: parse as YAML`},
		"required value":     {"templates/s.yaml", `{{ required "set user" .Values.user }}`, `^render chart till 1.2.3: till/templates/s.yaml:1:\d+: the chart refuses these values: set user$`},
		"no template":        {"templates/s.yaml", `{{ if }}`, `till/templates/s.yaml`},
		"not YAML":           {"templates/s.yaml", "a: b: c\n", `till/templates/s.yaml, document 1: parse as YAML, from line 1 of the rendered template: `},
		"no object":          {"templates/s.yaml", "a: b\n", `till/templates/s.yaml, document 1: is not a Kubernetes object`},
		"values validated":   {"values.schema.json", `{"properties": {"replicas": {"type": "string"}}}`, `(?s)replicas.*string`},
		"other Kubernetes":   {"Chart.yaml", "apiVersion: v2\nname: till\nversion: 1.2.3\nkubeVersion: <1.30.0\n", `the chart requires Kubernetes <1.30.0, but airgap.yaml has 1.36.3`},
		"invalid CRD":        {"crds/x.yaml", "a: b: c\n", `crds/x.yaml, document 1: `},
		"invalid annotation": {"Chart.yaml", "apiVersion: v2\nname: till\nversion: 1.2.3\nannotations: {artifacthub.io/images: none}\n", `chart till, annotation artifacthub.io/images: `},
	} {
		t.Run(name, func(t *testing.T) {
			files := charttest.Checkout()
			files[tc.file] = tc.text
			c, err := chart.Open(charttest.Archive(t, "till", files))
			must(t, err)
			_, err = c.Render(forTest())
			wantError(t, err, tc.want)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	with := func(change func(map[string]string)) []byte {
		files := charttest.Checkout()
		change(files)
		return charttest.Archive(t, "till", files)
	}
	for name, tc := range map[string]struct {
		archive []byte
		want    string
	}{
		"no archive":        {[]byte("hello"), "read chart: "},
		"truncated":         {charttest.Archive(t, "till", charttest.Checkout())[:300], "read chart: "},
		"huge":              {make([]byte, chart.MaxArchive+1), "the limit is"},
		"no Chart.yaml":     {with(func(f map[string]string) { delete(f, "Chart.yaml") }), "Chart.yaml"},
		"without a version": {with(func(f map[string]string) { f["Chart.yaml"] = "apiVersion: v2\nname: till\n" }), "version"},
		"a library": {with(func(f map[string]string) {
			f["Chart.yaml"] = "apiVersion: v2\nname: till\nversion: 1.2.3\ntype: library\n"
		}), "library"},
		"a missing dependency": {with(func(f map[string]string) {
			maps.DeleteFunc(f, func(k, _ string) bool { return strings.HasPrefix(k, "charts/drawer/") })
		}), "the dependency drawer is not in charts/: run helm dependency build"},
		"a path to the outside": {charttest.Archive(t, "till", map[string]string{"../../x": "y"}), "read chart: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chart.Open(tc.archive)
			wantError(t, err, tc.want)
		})
	}
}

// TestPack: the same files give the same bytes, and the packed chart renders like the
// directory.
func TestPack(t *testing.T) {
	files := charttest.Checkout()
	files[".helmignore"] = "*.swp\n"
	files["templates/x.swp"] = "secret"
	one, err := chart.Pack(charttest.Directory(t, files))
	must(t, err)
	two, err := chart.Pack(charttest.Directory(t, files))
	must(t, err)
	if !bytes.Equal(one, two) {
		t.Error("the same files gave different bytes")
	}
	if bytes.Contains(one, []byte("x.swp")) {
		t.Error("an ignored file was packed")
	}
	c, err := chart.Open(one)
	must(t, err)
	rendered, err := c.Render(forTest())
	must(t, err)
	if len(rendered.Objects) != 5 {
		t.Errorf("got %q", titles(rendered.Objects))
	}
	_, err = chart.Pack(t.TempDir())
	wantError(t, err, "read chart .*Chart.yaml")
}

func forTest() chart.Release {
	return chart.Release{Name: "cash", Namespace: "shop", KubeVersion: "1.36.3"}
}

func titles(objects []workload.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Title("shop"))
	}
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks that an error matches a regular expression.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func mustWrite(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

package chart_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
)

// listener starts a server and fails the test at any connection.
func listener(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("true"))
	}))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			t.Errorf("connection from %s", c.RemoteAddr())
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// TestNothingIsFetched: no reference of a schema, in any notation, opens a connection.
// Unjudged reports values that were not validated.
func TestNothingIsFetched(t *testing.T) {
	at := listener(t)
	host := strings.TrimPrefix(at, "http://")
	t.Setenv("HTTP_PROXY", at)
	t.Setenv("HTTPS_PROXY", at)
	const remote = "and airgap fetches nothing"
	for name, c := range map[string]struct {
		schema string
		want   string // in Unjudged; "" for none
	}{
		"a ref":                      {`{"$ref": "` + at + `/a.json"}`, remote},
		"a ref with a fragment":      {`{"properties": {"replicas": {"$ref": "` + at + `/a.json#/definitions/x"}}}`, remote},
		"escaped slashes":            {`{"$ref": "http:\/\/` + host + `\/a.json"}`, remote},
		"escaped letters":            {`{"$ref": "\u0068ttp://` + host + `/a.json"}`, remote},
		"on a separate line":         {"{\"$ref\"\n :\n \"" + at + "/a.json\"}", remote},
		"relative to an ID":          {`{"$id": "` + at + `/s/v.json", "properties": {"replicas": {"$ref": "other.json"}}}`, remote},
		"relative to an inner ID":    {`{"properties": {"replicas": {"$id": "` + at + `/s/v.json", "$ref": "other.json"}}}`, remote},
		"a meta-schema":              {`{"$schema": "` + at + `/meta", "properties": {}}`, remote},
		"a meta-schema below":        {`{"properties": {"replicas": {"$id": "https://x.invalid/a", "$schema": "` + at + `/meta"}}}`, remote},
		"capitals":                   {`{"$ref": "HTTP://` + host + `/a.json"}`, remote},
		"https":                      {`{"$ref": "https://` + host + `/a.json"}`, remote},
		"a dynamic ref":              {`{"$dynamicRef": "` + at + `/a.json#x"}`, remote},
		"a recursive ref":            {`{"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "` + at + `/a.json"}`, remote},
		"percents in the path":       {`{"$id": "` + at + `/s/v.json", "properties": {"replicas": {"$ref": "%2e%2e/other.json"}}}`, remote},
		"without a scheme":           {`{"$ref": "//` + host + `/a.json"}`, remote},
		"twice, the last is remote":  {`{"$ref": "#/$defs/a", "$ref": "` + at + `/a.json", "$defs": {"a": true}}`, remote},
		"twice, the first is remote": {`{"$ref": "` + at + `/a.json", "$ref": "#/$defs/a", "$defs": {"a": true}}`, ""},
		"a byte order mark":          {"\xEF\xBB\xBF" + `{"$ref": "` + at + `/a.json"}`, remote},
		"a vocabulary":               {`{"$schema": "` + at + `/m", "$vocabulary": {"` + at + `/v": true}}`, remote},
		"a file":                     {`{"$ref": "file:///etc/passwd"}`, remote},
		"a file next to it":          {`{"$ref": "other.json"}`, remote},
		"a URN":                      {`{"$ref": "urn:example:values"}`, remote},
		"draft 7":                    {`{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"replicas": {"type": "integer"}}}`, ""},
		"draft 2020-12":              {`{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"replicas": {"type": "integer"}}}`, ""},
		"a draft as a schema":        {`{"properties": {"none": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}`, ""},
		"a ref within":               {`{"$id": "` + at + `/v.json", "properties": {"replicas": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}`, ""},
		"a ref within, by ID":        {`{"$id": "` + at + `/v.json", "properties": {"replicas": {"$ref": "n.json"}}, "$defs": {"n": {"$id": "n.json", "type": "integer"}}}`, ""},
		"a value named $ref":         {`{"properties": {"x": {"const": {"$ref": "` + at + `/a.json"}}}}`, ""},
	} {
		for where, prefix := range map[string]string{"chart till": "", "chart drawer": "charts/drawer/"} {
			files := charttest.Checkout()
			files[prefix+"values.schema.json"] = c.schema
			if prefix != "" {
				files["values.yaml"] += "drawer: {enabled: true, replicas: 2}\n"
				files["values.yaml"] = strings.Replace(files["values.yaml"], "drawer: {enabled: true}\n", "", 1)
			}
			opened, err := chart.Open(charttest.Archive(t, "till", files))
			must(t, err)
			rendered, err := opened.Render(forTest())
			if err != nil {
				t.Errorf("%s, %s: %v", where, name, err)
				continue
			}
			got := strings.Join(rendered.Unjudged, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) || c.want != "" && !strings.Contains(got, where+" are not validated") {
				t.Errorf("%s, %s: reports %q", where, name, got)
			}
		}
	}
}

// TestOtherSchemasValidate: a schema with a remote reference does not disable the others.
func TestOtherSchemasValidate(t *testing.T) {
	files := charttest.Checkout()
	files["charts/drawer/values.schema.json"] = `{"$ref": "https://schema.invalid/values.json"}`
	files["values.schema.json"] = `{"properties": {"replicas": {"type": "string"}}}`
	opened, err := chart.Open(charttest.Archive(t, "till", files))
	must(t, err)
	_, err = opened.Render(forTest())
	wantError(t, err, `(?s)values.schema.json of chart till.*replicas.*string`)
}

// TestSchemaBombs: an endless or very large schema is an error, not a crash.
func TestSchemaBombs(t *testing.T) {
	for name, schema := range map[string]string{
		"itself":       `{"$ref": "#"}`,
		"each other":   `{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`,
		"deep":         `{"properties": {"x": ` + strings.Repeat(`{"not": `, 100_000) + `true` + strings.Repeat("}", 100_000) + `}}`,
		"a pattern":    `{"properties": {"x": {"pattern": "((a{1000}){1000}){1000}"}}}`,
		"not JSON":     `{`,
		"two values":   `{} {}`,
		"a list":       `[]`,
		"a large file": `{"title": "` + strings.Repeat("x", 6<<20) + `"}`,
	} {
		for _, prefix := range []string{"", "charts/drawer/"} {
			files := charttest.Checkout()
			files[prefix+"values.schema.json"] = schema
			files["values.yaml"] = strings.Replace(files["values.yaml"], "drawer: {enabled: true}\n", "drawer: {enabled: true, x: a}\n", 1)
			opened, err := chart.Open(charttest.Archive(t, "till", files))
			if err == nil {
				_, err = opened.Render(forTest())
			}
			if err == nil {
				t.Errorf("%s%s: no error", prefix, name)
			} else if text := err.Error(); len(text) > 4000 {
				t.Errorf("%s%s: an error of %d bytes", prefix, name, len(text))
			} else {
				t.Log(prefix, name, text)
			}
		}
	}
}

// TestTemplatesAskNobody: templates cannot use DNS, a cluster, or files outside of the chart.
func TestTemplatesAskNobody(t *testing.T) {
	at := listener(t)
	files := charttest.Checkout()
	files["templates/ask.yaml"] = `apiVersion: v1
kind: ConfigMap
metadata: {name: asked}
data:
  dns: "{{ getHostByName "localhost" }}"
  cluster: "{{ lookup "v1" "Secret" "" "" }}"
  file: "{{ .Files.Get "../../../etc/passwd" }}{{ .Files.Get "/etc/passwd" }}{{ range $p, $_ := .Files.Glob "/etc/*" }}{{ $p }}{{ end }}"
  all: "{{ range $p, $_ := .Files.Glob "**" }}{{ if hasPrefix "/" $p }}{{ $p }}{{ end }}{{ end }}"
`
	t.Setenv("KUBECONFIG", "/nonexistent")
	t.Setenv("HTTP_PROXY", at)
	opened, err := chart.Open(charttest.Archive(t, "till", files))
	must(t, err)
	rendered, err := opened.Render(forTest())
	must(t, err)
	for _, o := range rendered.Objects {
		if o.GetName() != "asked" {
			continue
		}
		data, _ := o.Object["data"].(map[string]any)
		if data["dns"] != "" || data["cluster"] != "map[]" || data["file"] != "" || data["all"] != "" {
			t.Errorf("got %q", data)
		}
		return
	}
	t.Error("the object is missing")
}

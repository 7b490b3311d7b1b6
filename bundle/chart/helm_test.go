package chart_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
)

// shape is a chart for which Helm and airgap must give the same result.
type shape struct {
	files   map[string]string
	values  string
	refused string // a regular expression for airgap's error if only airgap refuses the chart
	both    string // the same if both refuse the chart
	notice  string // a part of the notices
}

// named returns a chart with a fixed name and version, and files.
func named(files map[string]string) map[string]string {
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\n"}
	maps.Copy(all, files)
	return all
}

// template returns a chart with one file of templates.
func template(text string) map[string]string {
	return named(map[string]string{"templates/a.yaml": text})
}

// data returns a ConfigMap with lines of data.
func data(name string, lines ...string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  a: b\n" + strings.Join(lines, "\n") + "\n"
}

// kinds returns lines that show the type of a value in templates.
func kinds(path string) string {
	return strings.ReplaceAll("  kind: {{ kindOf X | quote }}\n  text: {{ toString X | quote }}\n  yaml: {{ toYaml X | quote }}\n"+
		"  truth: {{ ternary \"yes\" \"no\" (not (empty X)) | quote }}\n", "X", path)
}

// shapes returns features of real charts, one per shape.
func shapes() map[string]shape {
	all := map[string]shape{}
	for _, some := range []map[string]shape{templateShapes(), subchartShapes(), valueShapes()} {
		maps.Copy(all, some)
	}
	return all
}

func templateShapes() map[string]shape {
	return map[string]shape{
		"everything":               {files: charttest.Checkout()},
		"a comment after the mark": {files: template(data("a") + "\n---\n{{- if true -}}\n# a comment\n{{ end }}" + strings.TrimPrefix(data("b"), "---\n"))},
		"text after the mark":      {files: template(data("a") + "---" + strings.TrimPrefix(data("b"), "---\n"))},
		"marks of Windows":         {files: template(strings.ReplaceAll(data("a")+data("b"), "\n", "\r\n"))},
		"a byte order mark":        {files: template("\uFEFF" + data("a") + data("b"))},
		"marks within a text":      {files: template(data("a", "  t: |", "    ---", "    ---# x", "    ..."))},
		"only comments":            {files: template("# a\n---\n# b\n" + data("a"))},
		"the end of a document":    {files: template(data("a") + "...\n" + data("b"))},
		"text after the end":       {files: template(data("a") + "...\n" + strings.TrimPrefix(data("b"), "---\n")), notice: `after the line "..."`},
		"duplicate keys":           {files: template(data("a", "  k: 1", "  l: '2'", "  k: '3'")), notice: `till/templates/a.yaml, document 1, line 9: key data.k appears more than once`},
		"duplicate keys in a CRD": {
			files:  named(map[string]string{"crds/a.yaml": charttest.Checkout()["crds/shops.yaml"] + "kind: CustomResourceDefinition\n"}),
			notice: `crds/a.yaml, document 1, line 13: key kind`,
		},
		"definitions with marks": {
			files: named(map[string]string{"crds/a.yaml": "---# one\n" + charttest.Checkout()["crds/shops.yaml"] + "---# two\n" + strings.ReplaceAll(charttest.Checkout()["crds/shops.yaml"], "shop", "cart")}),
		},
		"duplicate keys in values": {files: named(map[string]string{"values.yaml": "a: 1\na: 2\n", "templates/a.yaml": data("a", kinds(".Values.a"))})},
		"random in a test":         {files: template(data("a") + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: 't-{{ randAlpha 5 | lower }}', annotations: {helm.sh/hook: test-success}}\n")},
		"a hook of Helm 2": {
			files:  template(data("a") + strings.ReplaceAll(data("b"), "{name: b}", "{name: b, annotations: {helm.sh/hook: crd-install}}")),
			notice: `because of the unknown hook "crd-install"`,
		},
		"a hook with an invalid weight": {files: template(strings.ReplaceAll(data("b"), "{name: b}", "{name: b, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: first}}"))},
		"a list": {
			files: template("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"),
		},
		"kept resources":        {files: template(strings.ReplaceAll(data("b"), "{name: b}", "{name: b, annotations: {helm.sh/resource-policy: keep}}"))},
		"notes of another name": {files: named(map[string]string{"templates/a.yaml": data("a"), "templates/OTHER-NOTES.txt": "no: yaml: here\n"})},
		"files": {
			files: named(map[string]string{"files/a.txt": "hello\n", "templates/a.yaml": data("a", "  f: {{ .Files.Get \"files/a.txt\" | quote }}", "{{ (.Files.Glob \"files/*\").AsConfig | indent 2 }}")}),
		},
		"tpl": {
			files: named(
				map[string]string{
					"values.yaml":      "x: y\nt: '{{ .Values.x }}-{{ include \"n\" . }}'\n",
					"templates/_n.tpl": `{{ define "n" }}{{ .Release.Name }}{{ end }}`,
					"templates/a.yaml": data("a", "  t: {{ tpl .Values.t . }}"),
				},
			),
		},
		"lookup":             {files: template(data("a", "  num: {{ (lookup \"v1\" \"Secret\" \"shop\" \"x\").data | default \"none\" }}", "  i: '{{ len (lookup \"v1\" \"Pod\" \"\" \"\") }}'"))},
		"names of hosts":     {files: template(data("a", "  h: '{{ getHostByName \"example.com\" }}'"))},
		"a missing value":    {files: template(`{{ required "set shop.name" .Values.shop }}`), both: `till/templates/a.yaml:1:3: the chart refuses these values: set shop.name$`},
		"a chart that fails": {files: template("{{ fail \"two\\n  lines\" }}"), both: `the chart refuses these values: two lines$`},
		"notes that fail": {
			files: named(map[string]string{"templates/NOTES.txt": `{{ fail "no" }}`, "templates/a.yaml": data("a")}),
			both:  `till/templates/NOTES.txt:1:3: the chart refuses these values: no$`,
		},
	}
}

func subchartShapes() map[string]shape {
	return map[string]shape{
		"a library as subchart": {
			files: named(
				map[string]string{
					"charts/lib/Chart.yaml":       "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n",
					"charts/lib/templates/_l.tpl": `{{ define "l" }}from {{ .Chart.Name }}{{ end }}`,
					"charts/lib/templates/x.yaml": "not: [read",
					"templates/a.yaml":            data("a", "  l: {{ include \"l\" . }}"),
				},
			),
		},
		"a library":                {files: named(map[string]string{"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\ntype: library\n"}), refused: `library`},
		"imported values":          {files: subcharts("import-values: [shared, {child: deep.er, parent: mine}]", "", "")},
		"an alias":                 {files: subcharts("alias: left", "left: {num: 5}\n", ""), values: "left: {m: x}\n"},
		"two aliases":              {files: subcharts("alias: left}\n  - {name: sub, version: 0.1.0, alias: right", "left: {num: 5}\nright: {num: 6}\n", "")},
		"a condition":              {files: subcharts("condition: 'sub.on,other.on'", "sub: {on: false}\n", "")},
		"a condition that is true": {files: subcharts("condition: sub.on", "sub: {on: false}\n", ""), values: "sub: {on: true}\n"},
		"tags":                     {files: subcharts("tags: [extra]", "tags: {extra: false}\n", "")},
		"global values":            {files: subcharts("alias: left", "global: {zone: z}\n", "  z: {{ .Values.global.zone }}"), values: "global: {zone: y}\n"},
		"version of a dependency":  {files: subcharts("version: '>9.0.0'", "", "")},
		"a packed dependency":      {files: packed(map[string]string{})},
		"a lock": {
			files: packed(map[string]string{"Chart.lock": "dependencies:\n- {name: sub, repository: 'https://charts.example', version: 0.1.0}\ndigest: sha256:00\ngenerated: \"2020-01-01T00:00:00Z\"\n"}),
		},
		"a missing dependency": {
			files: named(
				map[string]string{"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\ndependencies:\n  - {name: sub, version: 0.1.0, repository: 'file://../sub'}\n", "templates/a.yaml": data("a")},
			),
			both: `chart till: the dependency sub is not in charts/: run helm dependency build on the chart$`,
		},
		"a missing dependency of a subchart": {
			files: named(
				map[string]string{
					"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 0.1.0\ndependencies:\n  - {name: deep, version: 0.1.0, condition: deep.on}\n",
					"charts/sub/templates/a.yaml": data("s"),
					"templates/a.yaml":            data("a"),
				},
			),
			notice: `chart till: the dependency deep of the subchart sub is not in the archive; airgap ignores it, as Helm does`,
		},
		"a chart of Helm 2": {files: map[string]string{
			"Chart.yaml":            "name: till\nversion: 1.2.3\n",
			"requirements.yaml":     "dependencies:\n  - {name: sub, version: 0.1.0, repository: 'https://charts.example', condition: sub.on}\n",
			"requirements.lock":     "dependencies: []\n",
			"charts/sub/Chart.yaml": "name: sub\nversion: 0.1.0\n", "charts/sub/templates/a.yaml": data("s"), "templates/a.yaml": data("a", "  f: {{ .Files.Get \"requirements.yaml\" | b64enc }}"),
		}, values: "sub: {on: true}\n"},
	}
}

func valueShapes() map[string]shape {
	return map[string]shape{
		"range of Kubernetes": {
			files: named(
				map[string]string{
					"Chart.yaml":       "apiVersion: v2\nname: till\nversion: 1.2.3\nkubeVersion: '>=1.30.0-0 <1.40.0-0 || ^2'\n",
					"templates/a.yaml": data("a", "  k: {{ .Capabilities.KubeVersion.Version }}/{{ .Capabilities.KubeVersion.Minor }}"),
				},
			),
		},
		"another Kubernetes": {
			files: named(map[string]string{"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\nkubeVersion: '<1.30.0-0'\n", "templates/a.yaml": data("a")}),
			both:  `the chart requires Kubernetes <1.30.0-0, but airgap.yaml has 1.36.3`,
		},
		"null removes a value": {
			files:  named(map[string]string{"values.yaml": "a: {b: 1, c: 2}\nd: 3\n", "templates/a.yaml": data("a", "  v: {{ toJson .Values | quote }}")}),
			values: "a: {b: null}\nd: null\ne: null\n",
		},
		"null in a subchart": {files: subcharts("", "sub: {m: null}\n", "  v: {{ toJson .Values | quote }}"), values: "sub: {num: null}\n"},
		"zero":               {files: template(data("a", kinds(".Values.num"))), values: "num: 0\n"},
		"an integer":         {files: template(data("a", kinds(".Values.num"), "  e: {{ eq 5.0 .Values.num | quote }}", "  i: '{{ add1 .Values.num }}'")), values: "num: 5\n"},
		"a million": {
			files:  named(map[string]string{"values.yaml": "m: 1000000\n", "templates/a.yaml": data("a", kinds(".Values.num"), strings.ReplaceAll(kinds(".Values.m"), "  ", "  own-"))}),
			values: "num: 1000000\n",
		},
		"a large number": {files: template(data("a", kinds(".Values.num"))), values: "num: 12345678901234567890\n"},
		"powers of ten":  {files: template(data("a", kinds(".Values.num"))), values: "num: 1e6\n"},
		"octal numbers":  {files: template(data("a", kinds(".Values.num"), strings.ReplaceAll(kinds(".Values.o"), "  ", "  old-"))), values: "num: 0o644\no: 0644\n"},
		"numbers as rendered": {
			files: template("apiVersion: x/v1\nkind: X\nmetadata: {name: x}\nspec: {a: 1e6, b: 0o644, c: 0644, d: 9007199254740993, e: 1.0, f: 12345678901234567890, g: 0x1F, h: 1_000}\n"),
		},
		"yes and no": {
			files:  named(map[string]string{"values.yaml": "m: off\n", "templates/a.yaml": data("a", kinds(".Values.num"), strings.ReplaceAll(kinds(".Values.m"), "  ", "  own-"), "  on: 'x'")}),
			values: "num: yes\n",
		},
		"dates":               {files: template(data("a", kinds(".Values.num"))), values: "num: 2024-01-02\n"},
		"documents of values": {files: template(data("a", "  v: {{ toJson .Values | quote }}")), values: "a: {b: 1}\n---\na: {c: 2}\n"},
		"empty templates":     {files: named(map[string]string{"templates/a.yaml": "{{ if false }}x{{ end }}\n", "templates/b.yaml": "", "templates/c.yaml": data("a")})},
		"text that is not YAML": {
			files: named(map[string]string{"templates/README.md": "- a: b: c\n", "templates/a.yaml": data("a")}),
			both:  `till/templates/README.md, document 1: parse as YAML, from line 1`,
		},
		"text that is not an object": {files: template("a: b\n"), refused: `till/templates/a.yaml, document 1: is not a Kubernetes object: apiVersion or kind is missing`},
		"an object without a name":   {files: template("apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n"), refused: `Pod has metadata.generateName`},
		"a number as an annotation":  {files: template(strings.ReplaceAll(data("b"), "{name: b}", "{name: b, annotations: {port: 80}}")), refused: `metadata.annotations\["port"\] is 80, not a string`},
		"an empty annotation":        {files: template(strings.ReplaceAll(data("b"), "{name: b}", "{name: b, annotations: {port: }}"))},
		"a generated password": {
			files:   template(data("a", "  p: {{ .Values.auth | default (randAlphaNum 8) }}")),
			refused: `ConfigMap shop/a .*, data.p differs between two renderings.*: set auth in the add-on's values$`,
		},
		"a schema": {
			files:  named(map[string]string{"values.schema.json": `{"properties": {"num": {"type": "integer"}}}`, "templates/a.yaml": data("a")}),
			values: "num: x\n",
			both:   `values.schema.json of chart till: `,
		},
		"valid values for a schema": {files: named(map[string]string{"values.schema.json": `{"properties": {"num": {"type": "integer"}}}`, "templates/a.yaml": data("a")}), values: "num: 5\n"},
	}
}

// subcharts returns a chart with a dependency that shows its values.
func subcharts(dependency, values, line string) map[string]string {
	return map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\ndependencies:\n  - {name: sub, version: 0.1.0, " + dependency + "}\n", "values.yaml": values,
		"templates/a.yaml": data("a", "  v: {{ toJson .Values | quote }}"), "charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
		"charts/sub/values.yaml":      "num: 1\nm: 2\nexports: {shared: {from: sub}}\ndeep: {er: {est: 3}}\n",
		"charts/sub/templates/a.yaml": data("{{ .Chart.Name }}", "  num: {{ .Values.num | quote }}", "  m: {{ .Values.m | quote }}", line),
		"charts/sub/crds/a.yaml":      charttest.Checkout()["crds/shops.yaml"],
	}
}

func packed(files map[string]string) map[string]string {
	all := subcharts("", "", "")
	sub := map[string]string{}
	for name, text := range all {
		if within, is := strings.CutPrefix(name, "charts/sub/"); is {
			sub[within] = text
			delete(all, name)
		}
	}
	all["charts/sub-0.1.0.tgz"] = string(charttest.Archive(&testing.T{}, "sub", sub))
	maps.Copy(all, files)
	return all
}

// TestAsHelm renders each shape with Helm's action, as helm template does, and with airgap. Both
// give the same objects, or airgap's error has the reason.
func TestAsHelm(t *testing.T) {
	for name, s := range shapes() {
		t.Run(name, func(t *testing.T) {
			archive := charttest.Archive(t, "till", s.files)
			want, errHelm := byHelm(t, archive, s.values)
			got, notices, err := byAirgap(archive, s.values)
			switch {
			case s.both != "":
				wantError(t, err, s.both)
				if errHelm == nil {
					t.Errorf("Helm renders it: %v", want)
				}
				return
			case s.refused != "":
				wantError(t, err, s.refused)
				return
			case errHelm != nil || err != nil:
				t.Fatalf("Helm: %v; airgap: %v", errHelm, err)
			}
			compare(t, want, got)
			if all := strings.Join(notices, "\n"); !strings.Contains(all, s.notice) || s.notice == "" && all != "" {
				t.Errorf("notices are %q, want %q", notices, s.notice)
			}
		})
	}
}

// TestDirectoriesAsHelm: Pack reads the same files of a directory as Helm, with .helmignore and links.
func TestDirectoriesAsHelm(t *testing.T) {
	for name, s := range shapes() {
		dir := charttest.Directory(t, s.files)
		mustWrite(t, filepath.Join(dir, ".helmignore"), "*.bak\nignored/\n")
		mustWrite(t, filepath.Join(dir, "templates", "x.bak"), "no: yaml: here\n")
		loaded, errHelm := loader.Load(dir)
		archive, err := chart.Pack(dir)
		if errHelm != nil || err != nil {
			t.Errorf("%s: Helm: %v; airgap: %v", name, errHelm, err)
			continue
		}
		var theirs, ours []string
		for _, f := range loaded.Raw {
			theirs = append(theirs, f.Name+": "+string(f.Data))
		}
		for name, text := range untar(t, archive) {
			ours = append(ours, strings.TrimPrefix(name, "till/")+": "+text)
		}
		slices.Sort(theirs)
		slices.Sort(ours)
		if !slices.Equal(theirs, ours) {
			t.Errorf("%s: Helm has %q, airgap has %q", name, theirs, ours)
		}
	}
}

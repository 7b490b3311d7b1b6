// Package charttest makes archives of Helm charts for tests, with archive/tar
// and nothing of the code under test.
package charttest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Till is a chart with a subchart, an init container, a hook, a test, a kind
// of its own and annotations: what a common chart has.
func Till() map[string]string {
	return map[string]string{
		"Chart.yaml": `apiVersion: v2
name: till
version: 1.2.3
kubeVersion: ">=1.30.0-0"
dependencies:
  - {name: drawer, version: 0.1.0, condition: drawer.enabled}
  - {name: printer, version: 0.1.0, condition: printer.enabled}
annotations:
  artifacthub.io/images: |
    - {name: plugin, image: "quay.io/shop/plugin:1"}
`,
		"values.yaml": "image: {tag: '1'}\nreplicas: 2\ndrawer: {enabled: true}\nprinter: {enabled: false}\n",
		"crds/shops.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop, listKind: ShopList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`,
		"templates/_names.tpl": `{{ define "name" }}{{ .Release.Name }}{{ end }}`,
		"templates/NOTES.txt":  "Sell well, {{ .Release.Name }}: {{ randAlphaNum 5 }}\n",
		"templates/till.yaml": `{{ if .Capabilities.APIVersions.Has "apps/v1/Deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "name" . }}
  labels: {kube: "{{ .Capabilities.KubeVersion.Version }}", install: "{{ .Release.IsInstall }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec:
      initContainers: [{name: prepare, image: "quay.io/shop/prepare:{{ .Values.image.tag }}"}]
      containers: [{name: till, image: "quay.io/shop/till:{{ .Values.image.tag }}"}]
{{- end }}
`,
		"templates/shop.yaml": `{{ if .Capabilities.APIVersions.Has "example.com/v1/Shop" -}}
apiVersion: example.com/v1
kind: Shop
metadata: {name: {{ .Release.Name }}}
spec: {open: true}
{{- end }}
{{ if .Capabilities.APIVersions.Has "policy/v1beta1/PodSecurityPolicy" -}}
apiVersion: policy/v1beta1
kind: PodSecurityPolicy
metadata: {name: gone}
{{- end }}
`,
		"templates/lookup.yaml": `{{ if lookup "v1" "Namespace" "" "default" -}}
apiVersion: v1
kind: ConfigMap
metadata: {name: asked-a-cluster}
{{- end }}
`,
		"templates/prepare.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: prepare, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}}
spec:
  ttlSecondsAfterFinished: 60
  template: {spec: {restartPolicy: Never, containers: [{name: prepare, image: "quay.io/shop/prepare:{{ .Values.image.tag }}"}]}}
`,
		"templates/tests/till.yaml": `apiVersion: v1
kind: Pod
metadata: {name: tested, annotations: {helm.sh/hook: test}}
spec: {containers: [{name: test, image: "quay.io/shop/test:1"}]}
`,
		"charts/drawer/Chart.yaml":  "apiVersion: v2\nname: drawer\nversion: 0.1.0\n",
		"charts/drawer/values.yaml": "coins: 100\n",
		"charts/drawer/templates/drawer.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-drawer}
data: {coins: "{{ .Values.coins }}"}
`,
		"charts/printer/Chart.yaml": "apiVersion: v2\nname: printer\nversion: 0.1.0\n",
		"charts/printer/templates/printer.yaml": `apiVersion: v1
kind: Pod
metadata: {name: printer}
spec: {containers: [{name: printer, image: "quay.io/shop/printer:1"}]}
`,
	}
}

// Archive packs files as name/…; the same files give the same bytes.
func Archive(t testing.TB, name string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		check(t, w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(files[file]))}))
		_, err := w.Write([]byte(files[file]))
		check(t, err)
	}
	check(t, w.Close())
	check(t, z.Close())
	return b.Bytes()
}

// Directory writes files below a directory of the test's own.
func Directory(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

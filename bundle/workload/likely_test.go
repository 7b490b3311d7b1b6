package workload_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/distribution/reference"

	"airgap.dev/airgap/bundle/workload"
)

// TestLikelyByShape: texts that are candidates by their shape and key.
func TestLikelyByShape(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	for name, tc := range map[string]struct {
		data string // of a ConfigMap, as YAML
		want []string
	}{
		"host and tag":              {`k: quay.io/x/y:1`, []string{"quay.io/x/y:1"}},
		"host, port and digest":     {`k: r.bank.local:5000/x@` + digest, []string{"r.bank.local:5000/x@" + digest}},
		"path and version":          {`k: kserve/agent:v0.15.2`, []string{"kserve/agent:v0.15.2"}},
		"path and word":             {`k: shop/till:stable`, nil},
		"path and word, named":      {`till-image: shop/till:stable`, []string{"shop/till:stable"}},
		"one word, named":           {`TILL_IMAGE: "busybox:1"`, []string{"busybox:1"}},
		"list of images":            {`images: "a.io/x:1, a.io/y:2 a.io/z:3"`, []string{"a.io/x:1", "a.io/y:2", "a.io/z:3"}},
		"lines with keys":           {`till_images: "1=shop/a:one\n2=shop/b:two\n"`, []string{"shop/a:one", "shop/b:two"}},
		"JSON":                      {`k: '{"a": [{"image": "shop/till:one"}]}'`, []string{"shop/till:one"}},
		"YAML in JSON in YAML":      {`k: '{"a": "b:\n  image: shop/till:one\n"}'`, []string{"shop/till:one"}},
		"TOML":                      {`k: "[[runners]]\n  image = \"shop/till:one\"\n"`, []string{"shop/till:one"}},
		"script":                    {`k: "#!/bin/sh\nkubectl run a --image=shop/till:one --image-pull-policy=Never\n"`, []string{"shop/till:one"}},
		"flag and word":             {`k: "run --till-image shop/till:one -x"`, []string{"shop/till:one"}},
		"list with semicolons":      {`A_IMAGES: "quay.io/x/a:1;quay.io/x/b:2"`, []string{"quay.io/x/a:1", "quay.io/x/b:2"}},
		"a tag in capitals":         {`k: '{"server": "quay.io/x/y:RELEASE.2025-04-08"}'`, []string{"quay.io/x/y:RELEASE.2025-04-08"}},
		"OCI's prefix":              {`k: oci://quay.io/x/model:1`, []string{"quay.io/x/model:1"}},
		"next to settings":          {`{image: "shop/till:stable", args: x}`, []string{"shop/till:stable"}},
		"docker's prefix":           {`k: docker://quay.io/x/y:1`, []string{"quay.io/x/y:1"}},
		"flat parts":                {"{t.repository: quay.io/x/y, t.tag: 1.10}", nil}, // 1.1, because the value is a number
		"flat parts of texts":       {`{t.repository: quay.io/x/y, t.tag: "1.10"}`, []string{"quay.io/x/y:1.10"}},
		"camel case":                {`{tillImage: quay.io/x/y, tillVersion: "2"}`, []string{"quay.io/x/y:2"}},
		"parts of JSON":             {`k: '{"image": {"registry": "quay.io", "repository": "x/y", "digest": "` + digest + `"}}'`, []string{"quay.io/x/y@" + digest}},
		"disabled":                  {`k: '{"enabled": false, "image": "quay.io/x/y:1"}'`, nil},
		"only an example":           {`_example: "image: quay.io/x/y:1\n"`, nil},
		"word in TOML":              {`k: "[a]\n  image = \"alpine\"\n  helper_image = \"busybox\"\n"`, []string{"alpine", "busybox"}},
		"word of a variable":        {`HELPER_IMAGE: busybox`, []string{"busybox"}},
		"word of an export":         {`k: "#!/bin/sh\nexport HELPER_IMAGE=busybox\n"`, []string{"busybox"}},
		"database without a tag":    {`database-image: quay.io/x/y`, []string{"quay.io/x/y"}},
		"Hub without a tag":         {`HELPER_IMAGE: shop/till`, []string{"shop/till"}},
		"words that are not images": {`{image: "true", a-image: none, b.image: logo.svg, IMAGE_FORMAT: png, image-size: big, c-image: "a picture of it", images: "logo, banner", d-image: Logo}`, nil},
		"base of others":            {`{base-image: busybox, e-base-image: prom/prom}`, nil},
		"comment":                   {`k: "a = 1\n# image = quay.io/x/y:1\n"`, nil},
		"template":                  {`k: "image: {{ .Hub }}/y:{{ .Tag }}\n{{ end }}"`, nil},
		"policy":                    {`{imagePullPolicy: IfNotPresent, imagePullSecrets: "a/b:c", image-registry: "r.io:5000", image.tag: "v1.2"}`, nil},
		"URL":                       {`image: http://host:80/x:1`, nil},
		"host and port":             {`image: redis.shop:6379`, nil},
		"Service":                   {`k: minio.shop.svc:9000/bucket:1`, nil},
		"Go module":                 {`k: github.com/x/y:v1.2.3 golang.org/x/net@v0.1.0`, nil},
		"API":                       {`{a: apps/v1, b: "batch/v1:Job", c: app.kubernetes.io/name, d: "networking.k8s.io/v1:x"}`, nil},
		"path":                      {`{image: /var/lib/x, image2: "/a/b:ro", image3: ./x}`, nil},
		"digest alone":              {`image: ` + digest, nil},
		"cron, regex and time":      {`{image: "*/5 * * * *", b: "^quay.io/.*:v1$", c: "2026-01-02T03:04:05Z"}`, nil},
		"port of a Service":         {`"9000": shop/till:8080`, nil},
		"upper case":                {`image: Shop/Till:1`, nil},
		"certificate":               {`image: "-----BEGIN CERTIFICATE-----\nMIIB/a:b\n"`, nil},
		"repository without host":   {`image: {a: b}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			data := tc.data
			if !strings.HasPrefix(data, "{") {
				data = "{" + data + "}"
			}
			objects, err := workload.Parse("f.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: "+data+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			found, unread := workload.Likely(objects, "shop")
			var got []string
			for _, c := range found {
				if !slices.Contains(got, c.Image) {
					got = append(got, c.Image)
				}
			}
			if name == "flat parts" {
				return // 1.10 and 1.1 are both valid
			}
			if !slices.Equal(got, tc.want) || len(unread) > 0 {
				t.Errorf("got %q, want %q; unread %q", got, tc.want, unread)
			}
		})
	}
}

// TestLikelySecret: in a Secret only values below a key such as image are candidates.
func TestLikelySecret(t *testing.T) {
	objects, err := workload.Parse("f.yaml", []byte(`apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {dsn: "bank.example/shop:v1.0-hunter2", image: "quay.io/x/y:1"}
data: {config: aW1hZ2U6IHF1YXkuaW8veC96OjEK}
`))
	must(t, err)
	found, _ := workload.Likely(objects, "shop")
	var got []string
	for _, c := range found {
		got = append(got, c.Image+" in "+c.Where)
	}
	if want := []string{"quay.io/x/z:1 in Secret shop/s, data.config.image", "quay.io/x/y:1 in Secret shop/s, stringData.image"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// hostile returns inputs that would be expensive without limits.
func hostile() map[string]string {
	inText := func(text string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: %q}\n", text)
	}
	nested := "image: a.io/x:1\n"
	for range 8 {
		nested = fmt.Sprintf("image: %q\n\"b\": 1\n", nested)
	}
	return map[string]string{
		"bomb":         inText(bomb()),
		"nested texts": inText(nested),
		"deep lists":   inText("image: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n"),
		"many":         inText("images:\n" + strings.Repeat("- a.io/x:1\n", 10_000)),
		"long line":    inText("image = " + strings.Repeat("a.io/x:1,", 100_000) + "\n"),
		"long word":    inText("image = " + strings.Repeat("a/", 500_000) + "x:1\n"),
		"long key":     inText(strings.Repeat("image-", 100_000) + ": a.io/x:1\n"),
		"quotes":       inText("image: \"{\n'{\"'{"),
		"huge":         inText("image:\n" + strings.Repeat("# much ado\n", 500_000)),
	}
}

// TestLikelyIsBounded: hostile inputs are fast, and unread lists the places that were not
// searched.
func TestLikelyIsBounded(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			objects, err := workload.Parse("f.yaml", []byte(text))
			must(t, err)
			found, unread := workload.Likely(objects, "shop")
			if len(found) > 10 {
				t.Errorf("%d candidates", len(found))
			}
			if want := name == "nested texts" || name == "huge"; want != (len(unread) > 0) {
				t.Errorf("unread: %q", unread)
			}
		})
	}
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "  k%d: a.io/x:%d\n", i, i)
	}
	objects, err := workload.Parse("f.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"+many.String()))
	must(t, err)
	found, unread := workload.Likely(objects, "shop")
	if len(found) != 2000 || len(unread) != 1 || !strings.Contains(unread[0], "more than 2000 texts look like images") {
		t.Errorf("%d found, unread: %q", len(found), unread)
	}
}

// FuzzLikely searches texts in a ConfigMap, a Secret and arguments. Each candidate must be
// a valid reference.
func FuzzLikely(f *testing.F) {
	files, err := filepath.Glob("testdata/corpus/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(f, err)
		f.Add(string(text), "config.yaml")
	}
	f.Add("image: \"{\n'{\"'{", "image")
	f.Add("$(A)/x:$(TAG)", "A")
	f.Add("[[a]]\nimage = \"b:1\"\n", "--till-image")
	f.Fuzz(func(t *testing.T, text, key string) {
		object := func(kind string, more string) string {
			return fmt.Sprintf("{\"apiVersion\": \"v1\", \"kind\": %q, \"metadata\": {\"name\": \"x\"}, %s}", kind, more)
		}
		quote := func(s string) string { return fmt.Sprintf("%q", strings.ToValidUTF8(s, "?")) }
		for _, one := range []string{
			object("ConfigMap", fmt.Sprintf("\"data\": {%s: %s}", quote(key), quote(text))),
			object("Secret", fmt.Sprintf("\"stringData\": {%s: %s}", quote(key), quote(text))),
			object(
				"Pod",
				fmt.Sprintf("\"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\", \"args\": [%s, %s], \"env\": [{\"name\": %s, \"value\": %s}]}]}", quote(key), quote(text), quote(key), quote(text)),
			),
		} {
			objects, err := workload.Parse("f", []byte(one))
			if err != nil {
				continue
			}
			found, _ := workload.Likely(objects, "ns")
			for _, c := range found {
				if c.Open {
					continue // airgap does not ask a registry for it
				}
				for _, image := range []string{c.Image, c.Or} {
					if _, err := reference.ParseNormalizedNamed(image); err != nil && (image != "" || c.Or != "") {
						t.Errorf("%q of %q: %v", image, one, err)
					}
				}
			}
		}
	})
}

// BenchmarkImages measures Images; BenchmarkLikely measures the additional time of Likely.
func BenchmarkImages(b *testing.B) {
	shapes := corpus(b)
	for b.Loop() {
		for _, s := range shapes {
			_, err := workload.Images(s.objects, "shop")
			must(b, err)
		}
	}
}

func BenchmarkLikely(b *testing.B) {
	shapes := corpus(b)
	candidates := 0
	for b.Loop() {
		candidates = 0
		for _, s := range shapes {
			found, _ := workload.Likely(s.objects, "shop")
			candidates += len(found)
		}
	}
	b.ReportMetric(float64(candidates), "candidates")
}

// BenchmarkParse measures parsing, for comparison with both: a plan parses the objects of
// each chart twice, and each manifest once.
func BenchmarkParse(b *testing.B) {
	files, err := filepath.Glob("testdata/corpus/*.yaml")
	must(b, err)
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(b, err)
		texts = append(texts, text)
	}
	for b.Loop() {
		for _, text := range texts {
			_, err := workload.Parse("f", text)
			must(b, err)
		}
	}
}

package workload_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/workload"
)

// TestImages reads one file with all kinds of places that name an image. A comment at
// the end of a line has the expected reference.
func TestImages(t *testing.T) {
	text, err := os.ReadFile("testdata/images.yaml")
	must(t, err)
	objects, err := workload.Parse("images.yaml", text)
	must(t, err)
	refs, err := workload.Images(objects, "shop")
	must(t, err)
	var got, want []string
	for _, r := range refs {
		got = append(got, r.Image+" for "+r.Where)
	}
	for _, m := range regexp.MustCompile(`(?m)# want: (.*)$`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("missing: %s", w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("not expected: %s", g)
		}
	}
}

func TestImagesErrors(t *testing.T) {
	pod := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: till}\nspec: {template: {spec: {containers: [%]}}}\n"
	for name, tc := range map[string]struct{ in, want string }{
		"no image":           {strings.Replace(pod, "%", "{name: a}", 1), "f.yaml, document 1: Deployment shop/till, container a: has no image"},
		"a number":           {strings.Replace(pod, "%", "{name: a, image: 5}", 1), "container a: image is 5, expected a string"},
		"no name and image":  {strings.Replace(pod, "%", "{}", 1), "container 1: has no image"},
		"operator's default": {"apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: p}\nspec: {version: v3.5.0}\n", "Prometheus shop/p, spec.image: is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := workload.Parse("f.yaml", []byte(tc.in))
			must(t, err)
			_, err = workload.Images(objects, "shop")
			wantError(t, err, regexp.QuoteMeta(tc.want))
		})
	}
}

func TestAnnotated(t *testing.T) {
	refs, err := workload.Annotated(map[string]string{
		"artifacthub.io/images": "- {name: a, image: docker.io/a:1}\n- {name: b, image: docker.io/b:1, whitelisted: true}\n",
		"helm.sh/images":        "- {name: c, image: docker.io/c:1}\n",
		"example.com/images":    "- {image: docker.io/d:1}\n",
	}, "chart till")
	must(t, err)
	var got []string
	for _, r := range refs {
		got = append(got, r.Image+" for "+r.Where)
	}
	want := []string{
		"docker.io/a:1 for chart till, annotation artifacthub.io/images",
		"docker.io/b:1 for chart till, annotation artifacthub.io/images",
		"docker.io/c:1 for chart till, annotation helm.sh/images",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	_, err = workload.Annotated(map[string]string{"artifacthub.io/images": "docker.io/a:1"}, "chart till")
	wantError(t, err, "chart till, annotation artifacthub.io/images: expected a list")
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

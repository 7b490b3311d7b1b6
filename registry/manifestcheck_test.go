package registry

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// TestMemoryOfAManifestCheck: a small manifest with a million descriptors needs little memory, whether they are empty or
// not.
func TestMemoryOfAManifestCheck(t *testing.T) {
	full := `{"mediaType":"x/y","size":1,"digest":"` + digest.FromString("x").String() + `"}`
	for name, test := range map[string]struct {
		descriptor, code string
	}{"empty": {"{}", "DIGEST_INVALID"}, "complete": {full, ""}} {
		list := strings.Repeat(test.descriptor+",", maxManifest/(len(test.descriptor)+1)-1) + test.descriptor
		for _, field := range []string{"layers", "manifests"} {
			body := slices.Concat([]byte(`{"schemaVersion":2,"`+field+`":[`), []byte(list), []byte("]}"))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			problem := checkManifest(body)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
				t.Errorf("%s %s: %d MiB", name, field, used>>20)
			}
			code := ""
			if problem != nil {
				code = problem.code
			}
			if code != test.code {
				t.Errorf("%s %s: %+v, want %q", name, field, problem, test.code)
			}
		}
	}
	for _, body := range []string{`{"schemaVersion": 2, "layers": {}}`, `{"schemaVersion": 2, "manifests": 3}`, `{"schemaVersion": 2, "config": []}`, `{"schemaVersion": 2, "layers": [3]}`} {
		if problem := checkManifest([]byte(body)); problem == nil || problem.code != "MANIFEST_INVALID" || problem.message == "" {
			t.Errorf("%s: %+v", body, problem)
		}
	}
	for _, body := range []string{`{"schemaVersion": 2, "layers": null, "config": null}`, `{"schemaVersion": 2}`} {
		if problem := checkManifest([]byte(body)); problem != nil {
			t.Errorf("%s: %+v", body, problem)
		}
	}
}

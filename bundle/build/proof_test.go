package build

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/ui"
)

// TestProof: the plan lists each reference with the items that need it, and the totals
// at the end.
func TestProof(t *testing.T) {
	blob := bundle.Blob{Digest: "sha256:aa", Size: 1 << 20}
	p := ProofOf(&bundle.Plan{Lock: bundle.Lock{
		Images: []bundle.Image{
			{Name: "quay.io/shop/till:1", Digest: "sha256:aa", NeededBy: []string{"add-on cash: Deployment shop/cash, container till", "images.list"}, Blobs: []bundle.Blob{blob}},
			{Name: "quay.io/shop/till:again", Digest: "sha256:aa", Blobs: []bundle.Blob{blob}},
		},
		Packages: []bundle.Package{{NEVRA: nevra.MustParse("socat-0:1-1.x86_64"), SHA256: "bb", Size: 10, NeededBy: []string{"kubernetes"}, Hosts: []string{"db1"}}},
		Files:    []bundle.File{{Name: "runc", SHA256: "cc", Size: 20, NeededBy: []string{"runtime runc"}}},
		Addons: []bundle.Addon{
			{Name: "cash", Size: 5, Chart: &bundle.Chart{Name: "till", Version: "1.2.3", Digest: "sha256:dd", Size: 7}, Sources: []bundle.Source{{URL: "https://web.example/a.yaml", SHA256: "ee"}}},
		},
		Manifests: []bundle.Source{{URL: "https://web.example/b.yaml", SHA256: "ff"}},
	}})
	if want := (sums{References: 7, Bytes: 1<<20 + 10 + 20 + 5 + 7, AllResolved: true}); p.ClosedWorld != want {
		t.Errorf("sums are %+v, want %+v", p.ClosedWorld, want)
	}
	var text bytes.Buffer
	p.list(&text)
	if err := p.sum(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"image    quay.io/shop/till:1\n           sha256:aa, 1.0 MB\n           for add-on cash: Deployment shop/cash, container till\n           for images.list\n",
		"sha256:bb, 10 B, on db1 only\n           for kubernetes\n",
		"chart    till 1.2.3\n           sha256:dd, 7 B\n           for add-on cash\n",
		"manifest https://web.example/a.yaml\n           sha256:ee\n           for add-on cash\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	if !strings.HasSuffix(text.String(), "\ncomplete: 7 references, all resolved; 1.0 MB in total\n") {
		t.Errorf("unexpected last line:\n%s", text.String())
	}
}

// TestProofOfThreeClasses: the plan marks a reference that only looks like an image,
// and lists the references that are not in the bundle with their places. It does not
// report "all resolved" then.
func TestProofOfThreeClasses(t *testing.T) {
	lock := bundle.Lock{
		Images:     []bundle.Image{{Name: "quay.io/shop/helper:1", Digest: "sha256:aa", LooksLike: true, NeededBy: []string{"add-on cash: ConfigMap shop/c, data.helper"}}},
		NotCarried: []bundle.NotCarried{{Reference: "quay.io/shop/gone:1", Reason: "its registry has no such image", FoundIn: []string{"add-on cash: ConfigMap shop/c, data.gone"}}},
		Ignored:    []bundle.Ignored{{Reference: "quay.io/shop/demo:1", Reason: "a demo", FoundIn: []string{"add-on cash: chart till, annotation helm.sh/images"}}},
	}
	p := ProofOf(&bundle.Plan{Lock: lock})
	if p.ClosedWorld.AllResolved {
		t.Error("AllResolved is true")
	}
	var text bytes.Buffer
	p.list(&text)
	if err := p.sum(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"sha256:aa, 0 B; looks like an image, and its registry has it\n           for add-on cash: ConfigMap shop/c, data.helper\n",
		"not included quay.io/shop/gone:1\n           looks like an image; its registry has no such image\n           in add-on cash: ConfigMap shop/c, data.gone\n",
		"ignored  quay.io/shop/demo:1\n           a demo\n           in add-on cash: chart till, annotation helm.sh/images\n",
		"incomplete: 1 reference resolved, 1 possible image not in the bundle;", "images.list", "images.ignore",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "all resolved") {
		t.Errorf("the text reports all resolved:\n%s", text.String())
	}
	if err := (Options{Strict: true}).strictly(&bundle.Plan{Lock: lock}); err == nil ||
		!strings.Contains(err.Error(), "quay.io/shop/gone:1 looks like an image and is not in the bundle: its registry has no such image (found in add-on cash: ConfigMap shop/c, data.gone)") {
		t.Errorf("--strict: %v", err)
	}
	if err := (Options{Strict: true}).strictly(&bundle.Plan{}); err != nil {
		t.Errorf("--strict with nothing missing: %v", err)
	}
	text.Reset()
	said := ui.New(&text, ui.Plain)
	reportNotCarried(said, lock)
	if !strings.Contains(text.String(), "quay.io/shop/gone:1 looks like an image and is not in the bundle") {
		t.Errorf("no warning about the image: %q", text.String())
	}
}

// TestProofOfOperators: the plan lists each operator with the warnings about its pods,
// in text and in JSON.
func TestProofOfOperators(t *testing.T) {
	p := ProofOf(&bundle.Plan{Operators: []operators.Operator{
		{By: "add-on search: StatefulSet search/elastic-operator", Image: "docker.elastic.co/eck/eck-operator:3.0.0", Rule: "eck"},
		{By: "add-on own: Deployment own/own", Image: "registry.example/own:1", Warnings: []string{"it may create pods"}},
	}})
	var text bytes.Buffer
	p.list(&text)
	want := "operator add-on search: StatefulSet search/elastic-operator\n           docker.elastic.co/eck/eck-operator:3.0.0, rule eck\n" +
		"operator add-on own: Deployment own/own\n           registry.example/own:1, no rule\n           warning: it may create pods\n"
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
	got, err := json.Marshal(p)
	if err != nil ||
		!strings.Contains(
			string(got),
			`"operators":[{"by":"add-on search: StatefulSet search/elastic-operator","image":"docker.elastic.co/eck/eck-operator:3.0.0","rule":"eck"},`+
				`{"by":"add-on own: Deployment own/own","image":"registry.example/own:1","warnings":["it may create pods"]}]`,
		) {
		t.Errorf("%v: %s", err, got)
	}
}

// TestProofIsQualified: the plan does not report "all resolved" if no rule knows an
// operator, or if a place was not searched. --strict fails for an unknown operator
// only.
func TestProofIsQualified(t *testing.T) {
	own := operators.Operator{By: "add-on own: Deployment own/own", Image: "registry.example/own:1", Unknown: true, Warnings: []string{"no rule knows it"}}
	later := operators.Operator{By: "add-on eck: StatefulSet eck/eck", Image: "registry.example/eck:1", Rule: "eck", Warnings: []string{"no object is there yet"}}
	gone := bundle.Lock{NotCarried: []bundle.NotCarried{{Reference: "a.example/b:1", Reason: "gone"}}}
	for name, tc := range map[string]struct {
		plan   bundle.Plan
		want   string
		strict string
	}{
		"a known operator": {bundle.Plan{Operators: []operators.Operator{later}}, "complete: 0 references, all resolved; 0 B in total\n", ""},
		"an operator": {
			bundle.Plan{Operators: []operators.Operator{own, later}},
			"incomplete: 0 references resolved, 1 operator with unknown images; 0 B in total\nnext: for each operator, add a rule to images.rules",
			"add-on own: Deployment own/own, operator registry.example/own:1: no rule knows it",
		},
		"a place":            {bundle.Plan{Unsearched: 2}, "incomplete: 0 references resolved, 2 places not searched; 0 B in total\nnext: check the places", ""},
		"an image, operator": {bundle.Plan{Operators: []operators.Operator{own}, Lock: gone}, "1 possible image not in the bundle, 1 operator with", "a.example/b:1 looks like an image"},
	} {
		p := ProofOf(&tc.plan)
		var text bytes.Buffer
		if err := p.sum(&text); err != nil || !strings.Contains(text.String(), tc.want) {
			t.Errorf("%s: %v, %q, want %q", name, err, text.String(), tc.want)
		}
		if p.ClosedWorld.AllResolved != strings.Contains(text.String(), "all resolved") {
			t.Errorf("%s: allResolved in JSON is %v", name, p.ClosedWorld.AllResolved)
		}
		err := Options{Strict: true}.strictly(&tc.plan)
		if (err != nil) != (tc.strict != "") || err != nil && !strings.Contains(err.Error(), tc.strict) {
			t.Errorf("%s: --strict: %v, want %q", name, err, tc.strict)
		}
	}
}

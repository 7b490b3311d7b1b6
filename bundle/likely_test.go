package bundle_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/internal/ui"
)

const likelyObjects = `apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: shop}
spec:
  template:
    spec:
      containers:
        - name: operator
          image: quay.io/shop/operator:1
          args: [--helper-image, "quay.io/shop/helper:1.0", --base-image=quay.io/shop/helper, --cleaner-image=quay.io/shop/cleaner]
          env:
            - {name: HELPER_IMAGE, value: "quay.io/shop/helper:1.0"}
            - {name: OPERATOR_IMAGE, value: "quay.io/shop/operator:1"}
            - {name: GONE_IMAGE, value: "quay.io/shop/gone:1.0"}
            - {name: SECRET_IMAGE, value: "quay.io/shop/secret:1.0"}
            - {name: LATE_IMAGE, value: "silent.example/shop/late:1.0"}
            - {name: LATER_IMAGE, value: "silent.example/shop/later:1.0"}
            - {name: ARM_IMAGE, value: "quay.io/shop/arm:1.0"}
            - {name: DEMO_IMAGE, value: "quay.io/shop/demo:1.0"}
            - {name: WORD_IMAGE, value: busybox}
            - {name: LOGO_IMAGE, value: logo}
            - {name: FLAG_IMAGE, value: banner}
            - {name: OPEN_IMAGE, value: "$(REGISTRY)/open:1.0"}
            - {name: DEMOS_IMAGE, value: "$(REGISTRY)/demos:1.0"}
---
apiVersion: shop.example/v1
kind: Till
metadata: {name: t, namespace: shop}
spec: {drawer: {name: drawer, repository: quay.io/shop, tag: "1.0"}, coins: {name: main, repository: quay.io/shop/coins, tag: "1.0"}}
`

// likelyUpstream has the images of likelyObjects, except those that are missing in
// their registries.
func likelyUpstream(t *testing.T) *upstream {
	u := newUpstream(t)
	for _, image := range []string{"operator:1", "helper:1.0", "demo:1.0", "drawer:1.0", "coins:1.0"} {
		u.push(t, bundletest.Image{Name: "quay.io/shop/" + image, Held: bundletest.RandomImage(t, 500, 1, "amd64")})
	}
	u.push(t, bundletest.Image{Name: "docker.io/library/busybox:latest", Held: bundletest.RandomImage(t, 500, 1, "amd64")})
	u.push(t, bundletest.Image{Name: "quay.io/shop/arm:1.0", Held: bundletest.RandomImage(t, 500, 1, "arm64")})
	spoil := func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.Contains(r.URL.Path, "/shop/secret/"), strings.Contains(r.URL.Path, "/library/banner/"):
			http.Error(w, "{}", http.StatusForbidden)
		case strings.Contains(r.URL.Path, "silent.example"):
			http.Error(w, "{}", http.StatusBadGateway)
		default:
			return false
		}
		return true
	}
	u.spoil.Store(&spoil)
	return u
}

func likelyRequest(t *testing.T, u *upstream) bundle.Request {
	r := u.request()
	r.Dir, r.KubeVersion = charttest.Directory(t, map[string]string{"till.yaml": likelyObjects}), "1.36.3"
	r.Addons = []bundle.AddonNeed{{Name: "cash", Namespace: "shop", Manifests: []string{"till.yaml"}}}
	r.Ignore = []bundle.IgnoredImage{
		{Image: "quay.io/shop/demo", Reason: "the demo is switched off"}, {Image: "quay.io/nobody/*", Reason: "never there"},
		{Image: "$(REGISTRY)/demos:*", Reason: "the demos are switched off"},
	}
	return r
}

// TestLikely covers all three classes: images of pods, references that look like images
// and exist, and references that look like images and are not in the bundle. None of
// the last class fails the plan.
func TestLikely(t *testing.T) {
	u := likelyUpstream(t)
	p, err := bundle.NewPlan(background, u.client(t), likelyRequest(t, u), ui.Discard())
	must(t, err)
	looks := map[string]bool{}
	for _, i := range p.Lock.Images {
		looks[i.Name] = i.LooksLike
	}
	for name, want := range map[string]bool{
		"quay.io/shop/operator:1": false, "quay.io/shop/helper:1.0": true, "quay.io/shop/drawer:1.0": true,
		"quay.io/shop/coins:1.0": true, "docker.io/library/busybox:latest": true,
	} {
		if got, is := looks[name]; !is || got != want {
			t.Errorf("%s: in the bundle %v, looksLike %v, want %v", name, is, got, want)
		}
	}
	if len(looks) != 5 {
		t.Errorf("in the bundle: %v", looks)
	}
	wantNeeds(t, p.Lock, map[string]string{
		"quay.io/shop/operator:1": "add-on cash: Deployment shop/operator, container operator",
		"quay.io/shop/helper:1.0": "add-on cash: Deployment shop/operator, spec.template.spec.containers.operator.args.--helper-image|add-on " +
			"cash: Deployment shop/operator, spec.template.spec.containers.operator.env.HELPER_IMAGE",
		"quay.io/shop/drawer:1.0": "add-on cash: Till shop/t, spec.drawer",
	})
	reasons := map[string]string{}
	for _, n := range p.Lock.NotCarried {
		reasons[n.Reference] = n.Reason
	}
	for ref, want := range map[string]string{
		"quay.io/shop/gone:1.0": "no such image", "quay.io/shop/secret:1.0": "a login", "silent.example/shop/late:1.0": "did not answer", "silent.example/shop/later:1.0": "did not answer",
		"quay.io/shop/arm:1.0": "usable image", "quay.io/shop/cleaner": "no tag",
		"$(REGISTRY)/open:1.0": "contains a variable",
	} {
		if !strings.Contains(reasons[ref], want) {
			t.Errorf("%s: reason is %q, want %q", ref, reasons[ref], want)
		}
	}
	if len(reasons) != 7 {
		t.Errorf("not carried: %v", reasons)
	}
	if i := p.Lock.Ignored; len(i) != 2 || i[0].Reference != "$(REGISTRY)/demos:1.0" || i[1].Reference != "quay.io/shop/demo:1.0" || i[1].Reason != "the demo is switched off" || len(i[1].FoundIn) != 1 {
		t.Errorf("ignored: %+v", i)
	}
	if !slices.Contains(p.Notices, "images.ignore: quay.io/nobody/* matches no image") {
		t.Errorf("notices: %q", p.Notices)
	}
	if err := p.NotResolved(); err == nil || strings.Count(err.Error(), "\n") != 6 {
		t.Errorf("error of --strict: %v", err)
	}
	page, err := papers.Report(p, "SHA256:key")
	must(t, err)
	for _, want := range []string{"quay.io/shop/gone:1.0", "its registry has no such image", "the demo is switched off", "quay.io/shop/helper:1.0 (looks like an image"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in the report", want)
		}
	}
}

// TestLikelyIsRequestedOnce: each text is requested once. After a registry did not
// answer, its other images are not requested.
func TestLikelyIsRequestedOnce(t *testing.T) {
	u := likelyUpstream(t)
	var mu sync.Mutex
	asked := map[string]int{}
	inner := *u.spoil.Load()
	spoil := func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		asked[r.Method+" "+r.URL.Path]++
		mu.Unlock()
		return inner(w, r)
	}
	u.spoil.Store(&spoil)
	_, err := bundle.NewPlan(background, u.client(t), likelyRequest(t, u), ui.Discard())
	must(t, err)
	for _, name := range []string{"helper/manifests/1.0", "gone/manifests/1.0", "operator/manifests/1"} {
		if n := asked["GET /v2/quay.io/shop/"+name]; n != 1 {
			t.Errorf("%s was requested %d times", name, n)
		}
	}
	for path := range asked {
		if strings.Contains(path, "demo") || strings.Contains(path, "cleaner") {
			t.Errorf("%s was requested", path)
		}
	}
}

// TestLikelyIsLocked: the lock fixes the digest of a guess as for any image. A lock
// without the new fields can be read, and the plan is the same.
func TestLikelyIsLocked(t *testing.T) {
	u := likelyUpstream(t)
	request := likelyRequest(t, u)
	first, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	u.push(t, bundletest.Image{Name: "quay.io/shop/helper:1.0", Held: bundletest.RandomImage(t, 500, 1, "amd64")})
	request.Locked = &bundle.Locked{Lock: first.Lock}
	again, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	one, err := json.Marshal(first.Lock)
	must(t, err)
	two, err := json.Marshal(again.Lock)
	must(t, err)
	if string(one) != string(two) || len(again.Moved) != 1 {
		t.Errorf("the lock is not followed: moved %+v\n%s\n%s", again.Moved, one, two)
	}
}

// TestIgnoreAnnotation: images.ignore excludes an image that only a chart annotation
// names and that no registry has. It does not exclude an image of a pod.
func TestIgnoreAnnotation(t *testing.T) {
	u := shopUpstream(t)
	request := shopRequest(t, u)
	request.Ignore = []bundle.IgnoredImage{{Image: "quay.io/shop/plugin:1", Reason: "no plug-in is used"}, {Image: "quay.io/shop/till:1", Reason: "a mistake"}}
	p, err := bundle.NewPlan(background, u.client(t), request, ui.Discard())
	must(t, err)
	names := []string{}
	for _, i := range p.Lock.Images {
		names = append(names, i.Name)
	}
	if i := p.Lock.Ignored; len(i) != 1 || i[0].Reference != "quay.io/shop/plugin:1" || !slices.Contains(p.Notices, "images.ignore: quay.io/shop/till:1 matches no image") {
		t.Errorf("ignored: %+v, notices: %q", i, p.Notices)
	}
	if slices.Contains(names, "quay.io/shop/plugin:1") || !slices.Contains(names, "quay.io/shop/till:1") {
		t.Errorf("in the bundle: %q", names)
	}
}

// TestAnnotationThatIsOutOfDate: the error about an image that only a chart annotation
// names explains how to exclude it.
func TestAnnotationThatIsOutOfDate(t *testing.T) {
	u := shopUpstream(t)
	spoil := func(w http.ResponseWriter, r *http.Request) bool {
		if gone := strings.Contains(r.URL.Path, "/shop/plugin/"); gone {
			http.Error(w, "{}", http.StatusNotFound)
			return true
		}
		return false
	}
	u.spoil.Store(&spoil)
	_, err := bundle.NewPlan(background, u.client(t), shopRequest(t, u), ui.Discard())
	wantParts(t, err, "image quay.io/shop/plugin:1", "if no pod pulls it, add it to images.ignore")
}

func TestIgnoreValidates(t *testing.T) {
	at := field.NewPath("images")
	for want, one := range map[string]bundle.IgnoredImage{
		"images.ignore[0].reason": {Image: "quay.io/shop/till"},
		"images.ignore[0].image":  {Reason: "x"},
		"expected an image":       {Image: "a[", Reason: "x"},
	} {
		if errs := (bundle.Images{Ignore: []bundle.IgnoredImage{one}}).Validate(at); len(errs) != 1 || !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%+v: %v, want %s", one, errs, want)
		}
	}
	if errs := (bundle.Images{Ignore: []bundle.IgnoredImage{{Image: "quay.io/*/till*", Reason: "x"}}}).Validate(at); len(errs) > 0 {
		t.Errorf("a pattern: %v", errs)
	}
}

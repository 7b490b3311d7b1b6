package bundle_test

import (
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/internal/ui"
)

// TestKindsOfLaterAddons: a chart sees a kind that the templates of a later add-on
// define, and needs an image only then.
func TestKindsOfLaterAddons(t *testing.T) {
	u := newUpstream(t)
	u.push(t, bundletest.Image{Name: "quay.io/shop/watch:1.0", Held: bundletest.RandomImage(t, 500, 1, "amd64")})
	r := u.request()
	r.KubeVersion = "1.36.3"
	r.Dir = charttest.Directory(t, map[string]string{
		"till/Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.0.0\n",
		"till/templates/a.yaml": "{{ if .Capabilities.APIVersions.Has \"shop.example/v1/Watch\" }}\n" +
			"apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec: {containers: [{name: w, image: quay.io/shop/watch:1.0}]}\n{{ end }}\n",
		"watch/Chart.yaml": "apiVersion: v2\nname: watch\nversion: 1.0.0\n",
		"watch/templates/a.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: watches.shop.example}\n" +
			"spec:\n  group: shop.example\n  names: {kind: Watch}\n  versions: [{name: v1, served: true}]\n",
	})
	for _, name := range []string{"till", "watch"} {
		r.Addons = append(r.Addons, bundle.AddonNeed{Name: name, Namespace: "shop", Chart: &bundle.ChartNeed{Path: name}})
	}
	p, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	must(t, err)
	if len(p.Lock.Images) != 1 || !strings.Contains(p.Lock.Images[0].NeededBy[0], "add-on till: Pod shop/w") {
		t.Errorf("images: %+v", p.Lock.Images)
	}
}

package chart_test

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/chart"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/bundle/workload"
)

// kind returns the CustomResourceDefinition of a kind.
func kind(name string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "s.shop.example}\n" +
		"spec:\n  group: " + name + ".shop.example\n  names: {kind: Thing}\n  versions: [{name: v1, served: true}]\n"
}

func ifServed(name, text string) string {
	return "{{ if .Capabilities.APIVersions.Has \"" + name + ".shop.example/v1\" }}\n" + text + "{{ end }}\n"
}

func unlessServed(name, text string) string {
	return "{{ if not (.Capabilities.APIVersions.Has \"" + name + ".shop.example/v1\") }}\n" + text + "{{ end }}\n"
}

const rule = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rule}\n"

// TestTogether: a chart sees the kinds of all other charts, and is rendered again only if it
// reads the APIs and was rendered without some kinds.
func TestTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		templates []string // of one chart each
		want      []string // the number of renderings of each chart, and the kinds of its objects
	}{
		"no kinds":                {[]string{rule, rule}, []string{"1 ConfigMap", "1 ConfigMap"}},
		"of a later chart":        {[]string{ifServed("a", rule), kind("a")}, []string{"2 ConfigMap", "1 CustomResourceDefinition"}},
		"of an earlier chart":     {[]string{kind("a"), ifServed("a", rule)}, []string{"1 CustomResourceDefinition", "1 ConfigMap"}},
		"no chart reads the APIs": {[]string{rule, kind("a")}, []string{"1 ConfigMap", "1 CustomResourceDefinition"}},
		"of a chart with APIs":    {[]string{ifServed("a", rule), ifServed("b", kind("a")), kind("b")}, []string{"3 ConfigMap", "2 CustomResourceDefinition", "1 CustomResourceDefinition"}},
		"unless it exists":        {[]string{unlessServed("a", kind("a")), rule}, []string{"1 CustomResourceDefinition", "1 ConfigMap"}},
		"unless another has it":   {[]string{unlessServed("a", kind("a")), kind("a")}, []string{"2 ", "1 CustomResourceDefinition"}},
		"only with a kind":        {[]string{unlessServed("a", "{{ fail \"no a\" }}") + rule, kind("a")}, []string{"2 ConfigMap", "1 CustomResourceDefinition"}},
		"never":                   {[]string{"{{ fail \"never\" }}\n", kind("a")}, []string{"1 never", "1 CustomResourceDefinition"}},
		"each unless the other's": {[]string{unlessServed("b", kind("a")), ifServed("a", kind("b"))}, []string{"3 CustomResourceDefinition!", "3 CustomResourceDefinition"}},
	} {
		t.Run(name, func(t *testing.T) {
			var members []*chart.Member
			for _, text := range tc.templates {
				c, err := chart.Open(charttest.Archive(t, "till", map[string]string{"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\n", "templates/a.yaml": text}))
				must(t, err)
				members = append(members, &chart.Member{Chart: c, Release: forTest()})
			}
			chart.Together(members)
			var got []string
			for _, m := range members {
				got = append(got, shownMember(m))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func shownMember(m *chart.Member) string {
	text := string(rune('0'+m.Times)) + " "
	if m.Err != nil {
		if strings.Contains(m.Err.Error(), "never") {
			text += "never"
		}
		return text
	}
	for _, o := range m.Rendered.Objects {
		text += o.GetKind()
	}
	if len(m.Rendered.Notices) > 0 {
		text += "!"
	}
	return text
}

// TestTogetherWithManifests: the kinds of manifests are known before the first rendering.
func TestTogetherWithManifests(t *testing.T) {
	c, err := chart.Open(charttest.Archive(t, "till", map[string]string{"Chart.yaml": "apiVersion: v2\nname: till\nversion: 1.2.3\n", "templates/a.yaml": ifServed("a", rule)}))
	must(t, err)
	objects, err := workload.Parse("a.yaml", []byte(kind("a")))
	must(t, err)
	members := []*chart.Member{{Chart: c, Release: forTest()}, {Manifests: objects}}
	chart.Together(members)
	if got := shownMember(members[0]); got != "1 ConfigMap" || members[1].Times != 0 {
		t.Errorf("got %q", got)
	}
}

package workload_test

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/workload"
)

func TestInstalled(t *testing.T) {
	object := func(kind, name, hook, weight string) string {
		text := "---\napiVersion: example.com/v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n"
		if hook != "" {
			text += "  annotations: {helm.sh/hook: '" + hook + "', helm.sh/hook-weight: '" + weight + "'}\n"
		}
		return text + "spec: {ttlSecondsAfterFinished: 60}\n"
	}
	objects, err := workload.Parse("f.yaml", []byte(
		object("Job", "late", "post-install,post-upgrade", "")+
			object("ValidatingWebhookConfiguration", "webhook", "", "")+
			object("Deployment", "b", "", "")+
			object("Deployment", "a", "", "")+
			object("Shop", "custom", "", "")+
			object("Secret", "s", "", "")+
			object("Job", "second", "pre-install", "5")+
			object("ServiceAccount", "first", "pre-install", "-5")+
			object("Pod", "tested", "test", "")+
			object("Job", "upgraded", "pre-upgrade", "")+
			object("Job", "removed", "pre-delete", "")+
			object("Namespace", "space", "", "")+
			object("CustomResourceDefinition", "shops", "", "")+
			object("Job", "plain", "", "")))
	must(t, err)
	sorted := workload.Installed(objects)
	var got []string
	for _, o := range sorted {
		got = append(got, o.GetName())
		spec := o.Object["spec"].(map[string]any)
		if _, limited := spec["ttlSecondsAfterFinished"]; limited == slices.Contains([]string{"late", "second"}, o.GetName()) {
			t.Errorf("%s: spec is %v", o.GetName(), spec)
		}
	}
	if want := "shops space first second s b a custom plain webhook late"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestInstalledReadsAsHelm: as in Helm, the case of hooks does not matter, and a weight that
// is not a number is 0.
func TestInstalledReadsAsHelm(t *testing.T) {
	hook := func(name, events, weight string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  annotations: {helm.sh/hook: '" + events + "', helm.sh/hook-weight: '" + weight + "', empty: }\n"
	}
	objects, err := workload.Parse("f.yaml", []byte(hook("last", "Post-Install", "")+hook("none", "heavy", "")+hook("zero", "pre-install", "heavy")+hook("first", "PRE-INSTALL, pre-upgrade", "-1")))
	must(t, err)
	var got []string
	for _, o := range workload.Installed(objects) {
		got = append(got, o.GetName())
	}
	if want := "first zero last"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

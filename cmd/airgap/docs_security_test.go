package main

import (
	"bufio"
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/dataplane"
)

// TestDocsSecurity: units with their users and rights, pods with theirs, and the steps.
func TestDocsSecurity(t *testing.T) {
	inBoth(t, "security.md", "units", markdownTable(unitRows(t)...))
	inBoth(t, "security.md", "pods", markdownTable(podRows(t)...))
	inBoth(t, "security.md", "steps", markdownTable(stepRows(t)...))
}

// unitRows reads the units of airgap.rpm. One without a user runs as root, and has to
// say why, in a comment that begins with "# Root:".
func unitRows(t *testing.T) [][]string {
	units, err := allUnits()
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]string{{"Unit", "What", "Runs as", "Capabilities", "May write to", "Network"}}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		if !strings.HasSuffix(name, ".service") {
			continue
		}
		u := readUnit(string(units[name]))
		as := u["User"]
		if as == "" {
			as = "root: " + u["# Root"]
			if u["# Root"] == "" {
				t.Errorf("%s runs as root and does not say why: a comment \"# Root: it …\"", name)
			}
		}
		network := "as the host"
		if u["PrivateNetwork"] == "yes" {
			network = "none"
		}
		capabilities, limited := u["CapabilityBoundingSet"]
		if !limited {
			t.Errorf("%s limits no capabilities", name)
		}
		rows = append(rows, []string{"`" + name + "`", u["Description"], as, cmp.Or(capabilities, "none"), writes(u), network})
	}
	return rows
}

func writes(u map[string]string) string {
	var where []string
	for name := range strings.FieldsSeq(u["StateDirectory"]) {
		where = append(where, "`/var/lib/"+name+"`")
	}
	for name := range strings.FieldsSeq(u["ReadWritePaths"]) {
		where = append(where, "`"+name+"`")
	}
	switch u["ProtectSystem"] {
	case "strict":
		return cmp.Or(strings.Join(where, ", "), "nothing")
	case "full":
		return "everything but `/usr`, `/boot`, `/etc`"
	default:
		return "everything"
	}
}

// readUnit has the settings of a unit, and what comments say behind a word and a colon.
func readUnit(text string) map[string]string {
	u := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if comment, is := strings.CutPrefix(lines.Text(), "# Root: "); is {
			u["# Root"] = comment
			continue
		}
		if name, value, is := strings.Cut(lines.Text(), "="); is && !strings.HasPrefix(name, "#") {
			u[name] = value
		}
	}
	return u
}

// podRows are the pods of ours that every cluster has, and the device plugin.
func podRows(t *testing.T) [][]string {
	rows := [][]string{{"Pod", "User", "Rights on its host"}}
	flannel, err := cni.Objects(cni.Config{Plugin: "flannel"}, cni.Cluster{PodSubnet: "10.244.0.0/16"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tries, err := dataplane.Objects("airgap")
	if err != nil {
		t.Fatal(err)
	}
	cards, err := gpu.Plugin{Image: "nvidia"}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, objects := range [][]*unstructured.Unstructured{flannel, tries, cards} {
		for _, o := range objects {
			if o.GetKind() == "DaemonSet" || o.GetKind() == "Deployment" {
				rows = append(rows, podRow(t, o))
			}
		}
	}
	return rows
}

func podRow(t *testing.T, o *unstructured.Unstructured) []string {
	raw, _, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &pod); err != nil {
		t.Fatal(err)
	}
	var rights []string
	if pod.HostNetwork {
		rights = append(rights, "the host's network")
	}
	for _, c := range pod.Containers {
		if s := c.SecurityContext; s != nil && s.Privileged != nil && *s.Privileged {
			rights = append(rights, "privileged")
		} else if s != nil && s.Capabilities != nil {
			for _, add := range s.Capabilities.Add {
				rights = append(rights, string(add))
			}
		}
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			rights = append(rights, "`"+v.HostPath.Path+"`")
		}
	}
	user := "root"
	if s := pod.SecurityContext; s != nil && s.RunAsNonRoot != nil && *s.RunAsNonRoot {
		user = "not root"
	}
	return []string{o.GetNamespace() + "/" + o.GetName(), user, cmp.Or(strings.Join(rights, ", "), "none: profile restricted")}
}

// stepRows are the steps of the first host, and of a worker those that are not among
// them.
func stepRows(t *testing.T) [][]string {
	s := &site{config: docsConfig(t, ""), machine: thisMachine(), store: registry.Store{Dir: storeDir}, index: &bundle.Index{Name: "bank"}}
	s.nodes, s.node = s.config.Nodes, s.config.Master()
	v := bundle.NewView(bundletest.New(t).Open(t))
	defer v.Close()
	rows := [][]string{{"Step", "What", "On", "Taken back by reset"}}
	add := func(steps []step.Step, on string) {
		for _, st := range steps {
			if slices.ContainsFunc(rows, func(row []string) bool { return row[0] == "`"+st.Name+"`" }) {
				continue
			}
			back := "yes"
			if st.Undo == nil {
				back = "with the step that it belongs to"
			}
			rows = append(rows, []string{"`" + st.Name + "`", st.Title, on, back})
		}
	}
	add(s.installSteps(v, nil, ui.Discard()), "first host")
	s.node = s.config.Nodes[3]
	add(s.stepsAgain(&hub{addr: s.registryAddr(), index: s.index}, v), "hosts that join")
	return rows
}

package main

import (
	"bufio"
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/preflight/netprobe"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/dataplane"
)

// TestDocsSecurity: units with their users and rights, pods with theirs, the steps, and the
// secrets.
func TestDocsSecurity(t *testing.T) {
	inBoth(t, "security.md", "units", markdownTable(unitRows(t)...))
	inBoth(t, "security.md", "steps", markdownTable(stepRows(t)...))
	inBoth(t, "security.md", "secrets", markdownTable(secretRows()...))
}

// TestDocsSecurityPods asks the lab's kubeadm for its manifests.
func TestDocsSecurityPods(t *testing.T) {
	inBoth(t, "security.md", "pods", markdownTable(podRows(t)...))
}

func secretRows() [][]string {
	rows := [][]string{{"Secret", "Where", "Mode", "Way", "End"}}
	for _, s := range secretKinds() {
		rows = append(rows, []string{s.what, s.where, s.mode, s.way, s.end})
	}
	return rows
}

// TestSecretsAreFound: what the table says of a server, a support bundle knows, and leaves
// out: each place is one of the row's own, and a key that lies there is found.
func TestSecretsAreFound(t *testing.T) {
	for _, s := range secretKinds() {
		for _, place := range s.places {
			if !strings.Contains(s.where, "/"+place) {
				t.Errorf("%s: is looked for in %s, and the table says %s", s.what, place, s.where)
			}
		}
	}
	for _, name := range []string{"etc/airgap/registry.htpasswd", "etc/kubernetes/apiserver/encryption.yaml", "var/lib/airgap/kept/etcd-1/encryption.yaml", "var/lib/kubelet/pki/kubelet.key", "var/lib/dkms/mok.key", "root/.ssh/id_ed25519"} {
		host := &sickHost{dir: t.TempDir()}
		host.write(t, name, "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg"+strings.Repeat("Zm9v", 8)+"\n-----END PRIVATE KEY-----\n")
		e := &evidence{machine: kubeadm.Machine{Host: rootHost{host.dir, ""}}}
		if book, unread := e.secrets(); book.Len() == 0 || unread > 0 {
			t.Errorf("%s: %d secrets, %d files that could not be read", name, book.Len(), unread)
		}
	}
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

// podRows are the pods that every cluster has, kubeadm's by the manifests that it prints,
// and the device plugin.
func podRows(t *testing.T) [][]string {
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
	rows := [][]string{{"Pod", "User", "Rights on its host"}}
	add := func(objects []*unstructured.Unstructured) {
		for _, o := range objects {
			if o.GetKind() == "DaemonSet" || o.GetKind() == "Deployment" {
				rows = append(rows, podRow(t, o))
			}
		}
	}
	add(flannel)
	add(kubeadmAddon(t, "kube-proxy"))
	add(kubeadmAddon(t, "coredns"))
	add(tries)
	add(cards)
	return rows
}

// kubeadmAddon are the objects that kubeadm applies for a part of a cluster.
func kubeadmAddon(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	version := kubeadm.Releases()[0].Minor + ".0"
	cmd := host.Cmd{Name: apitest.Program(t, "kubeadm"), Args: []string{"init", "phase", "addon", name, "--print-manifest", "--kubernetes-version", version}}
	out, err := host.Local{}.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	return objects
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
	if o.GetName() == "coredns" {
		user = "not root, by its image" // its manifest leaves that to the image
	}
	if s := pod.SecurityContext; s != nil && s.RunAsNonRoot != nil && *s.RunAsNonRoot {
		user = "not root"
	}
	return []string{o.GetNamespace() + "/" + o.GetName(), user, cmp.Or(strings.Join(rights, ", "), "none: profile restricted")}
}

// hostKinds are kinds of servers by the way in which they come into the cluster.
type hostKinds int

const (
	firstHost hostKinds = 1 << iota
	furtherControlPlane
	workerHost
)

// words name them; each are all servers that are meant.
func (k hostKinds) words(each string) string {
	switch k {
	case firstHost:
		return "first host"
	case furtherControlPlane:
		return "further control-plane hosts"
	case firstHost | furtherControlPlane:
		return "control-plane hosts"
	case workerHost:
		return "workers"
	case furtherControlPlane | workerHost:
		return "hosts that join"
	}
	return each
}

// stepSite is a cluster whose servers take steps that a usual one's do not.
type stepSite struct {
	each, with string // which servers, and by what
	change     func(*site)
}

func stepSites() []stepSite {
	cards := func(s *site) {
		tree := fstest.MapFS{}
		for name, text := range map[string]string{"vendor": "0x10de", "device": "0x2330", "class": "0x030200"} {
			tree["sys/bus/pci/devices/0000:01:00.0/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		s.machine.Host, s.index.Lock.Drivers = cardHost{MapFS: tree}, map[string]string{}
		for i, n := range s.config.Nodes {
			s.config.Nodes[i].Roles = append(slices.Clone(n.Roles), config.Worker, config.GPU)
			s.index.Lock.Drivers[n.Name] = "580.82.07"
		}
	}
	return []stepSite{
		{"every server", "", func(*site) {}},
		{"servers with cards", ", where a node has cards", cards},
		{"servers with cards", ", with `gpu.source: runfile`", func(s *site) {
			cards(s)
			s.config.GPU.Source, s.config.GPU.Installer.URL = gpu.Runfile, "https://example.com/NVIDIA-Linux-x86_64-580.82.07.run"
		}},
		{"every server", ", where the measurement chose", func(s *site) {
			s.choice = &networkChoice{netprobe.Choice{Encapsulation: netprobe.VXLAN, Port: 4789}}
		}},
		{"every server", ", with `hostSettings.swap: disable`", func(s *site) { s.config.HostSettings.Swap = kubeadm.DisableSwap }},
		{"every server", ", with containerd 1.7", func(s *site) { s.config.Runtime.Version = "1.7.28" }},
		{"every server", ", with `kubernetes.dns: none`", func(s *site) { s.config.Kubernetes.DNS = kubeadm.NoDNS }},
		{"every server", ", with `addons`", func(s *site) { s.index.Lock.Addons = []bundle.Addon{{Name: "metrics-server"}} }},
	}
}

// stepRows are the steps of all kinds of servers, in their order.
func stepRows(t *testing.T) [][]string {
	type listed struct {
		step.Step

		of stepSite
		on hostKinds
	}
	var all []*listed
	v := bundle.NewView(bundletest.New(t).Open(t))
	defer v.Close()
	for i, of := range stepSites() {
		s := &site{config: docsConfig(t, ""), machine: thisMachine(), store: registry.Store{Dir: storeDir}, index: &bundle.Index{Name: "bank"}}
		of.change(s)
		s.nodes = s.config.Nodes
		for _, host := range []struct {
			node int
			kind hostKinds
		}{{0, firstHost}, {1, furtherControlPlane}, {3, workerHost}} {
			s.node = s.config.Nodes[host.node]
			steps := s.stepsAgain(&hub{addr: s.registryAddr(), index: s.index}, v)
			if host.kind == firstHost {
				steps = s.installSteps(v, nil, ui.Discard())
			}
			at := 0
			for _, st := range steps {
				// A usual cluster has steps that are called the same and do another thing on other hosts.
				is := slices.IndexFunc(all, func(l *listed) bool { return l.Name == st.Name && (i > 0 || l.Title == st.Title) })
				if is < 0 {
					for at < len(all) && all[at].Name == st.Name {
						at++
					}
					all, is = slices.Insert(all, at, &listed{Step: st, of: of}), at
				}
				if all[is].of.with == of.with {
					all[is].on |= host.kind
				}
				at = is + 1
			}
		}
	}
	rows := [][]string{{"Step", "What", "On", "Taken back by reset"}}
	for _, l := range all {
		on, back := l.on.words(l.of.each), "yes"
		if on != "servers with cards" || !strings.Contains(l.of.with, "cards") { // which says it already
			on += l.of.with
		}
		if l.Undo == nil {
			back = "with the step that it belongs to"
		}
		if l.Name == "store" {
			back = "no: `reset --wipe-data`"
		}
		rows = append(rows, []string{"`" + l.Name + "`", l.Title, on, back})
	}
	return rows
}

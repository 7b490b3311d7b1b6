package main

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/support"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/dataplane/deploy"
)

// TestDocsSecurity: the page has the units with their users and permissions, the steps, and the
// secrets.
func TestDocsSecurity(t *testing.T) {
	securityTable(t, "units", unitRows(t))
	securityTable(t, "steps", stepRows(t))
	securityTable(t, "secrets", secretRows())
}

// TestDocsSecurityPods: the page has the pods, also those in the manifests of kubeadm.
func TestDocsSecurityPods(t *testing.T) {
	securityTable(t, "pods", podRows(t))
}

func securityTable(t *testing.T, name string, rows [][]string) {
	t.Helper()
	made(t, "security.md", name, markdownTable(rows...))
	inKorean(t, "security.md", name, rows)
}

func secretRows() [][]string {
	rows := [][]string{{"Secret", "Where", "Mode", "Way", "End"}}
	for _, s := range support.SecretKinds() {
		rows = append(rows, []string{s.What, s.Where, s.Mode, s.Way, s.End})
	}
	return rows
}

// TestSecretsAreFound: a support bundle finds the secrets in the table, so that it can remove them.
// Each place is in the text of its row.
func TestSecretsAreFound(t *testing.T) {
	for _, s := range support.SecretKinds() {
		for _, place := range s.Places {
			if !strings.Contains(s.Where, "/"+place) {
				t.Errorf("%s: the search is in %s, the table has %s", s.What, place, s.Where)
			}
		}
	}
	for _, name := range []string{
		"etc/airgap/registry.htpasswd",
		"etc/kubernetes/apiserver/encryption.yaml",
		"var/lib/airgap/kept/etcd-1/encryption.yaml",
		"var/lib/kubelet/pki/kubelet.key",
		"var/lib/dkms/mok.key",
		"root/.ssh/id_ed25519",
	} {
		dir := t.TempDir()
		key := []byte("-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg" + strings.Repeat("Zm9v", 8) + "\n-----END PRIVATE KEY-----\n")
		if err := host.WriteFile(filepath.Join(dir, name), key, 0o600); err != nil {
			t.Fatal(err)
		}
		e := &support.Evidence{Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.RootHost{Dir: dir}}}}}
		if book, unread := e.Secrets(); book.Len() == 0 || unread > 0 {
			t.Errorf("%s: %d secrets, %d files that could not be read", name, book.Len(), unread)
		}
	}
}

// unitRows reads the units of airgap.rpm. A unit without a user runs as root; a comment "# Root:"
// must have the reason.
func unitRows(t *testing.T) [][]string {
	units, err := program.Units()
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]string{{"Unit", "Purpose", "Runs as", "Capabilities", "May write to", "Network"}}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		if !strings.HasSuffix(name, ".service") {
			continue
		}
		u := readUnit(string(units[name]))
		as := u["User"]
		if as == "" {
			as = "root: " + u["# Root"]
			if u["# Root"] == "" {
				t.Errorf("%s runs as root without a reason: add a comment \"# Root: it …\"", name)
			}
		}
		network := "the host's"
		if u["PrivateNetwork"] == "yes" {
			network = "none"
		}
		capabilities, limited := u["CapabilityBoundingSet"]
		if !limited {
			t.Errorf("%s does not limit capabilities", name)
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
	for name := range strings.FieldsSeq(u["RuntimeDirectory"]) {
		where = append(where, "`/run/"+name+"`")
	}
	for name := range strings.FieldsSeq(u["ReadWritePaths"]) {
		where = append(where, "`"+name+"`")
	}
	switch u["ProtectSystem"] {
	case "strict":
		return cmp.Or(strings.Join(where, ", "), "nothing")
	case "full":
		return "everything except `/usr`, `/boot`, `/etc`"
	default:
		return "everything"
	}
}

// readUnit returns the settings of a unit, and the comment "# Root:".
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

// podRows returns the pods of every cluster, for kubeadm from the manifests that it prints, and the
// device plugin.
func podRows(t *testing.T) [][]string {
	flannel, err := cni.Objects(cni.Config{Plugin: "flannel"}, cni.Cluster{PodSubnet: "10.244.0.0/16"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tries, err := deploy.Objects("airgap", settings.HostPort, dataplane.Etcd{})
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

// kubeadmAddon returns the objects that kubeadm applies for an add-on.
func kubeadmAddon(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	version := release.All()[0].Minor + ".0"
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
	containers := slices.Concat(pod.InitContainers, pod.Containers)
	rights := hostRights(pod)
	var users []string
	for _, c := range containers {
		users = append(users, userOf(o.GetName(), pod.SecurityContext, c.SecurityContext))
		rights = append(rights, rightsOf(c.SecurityContext)...)
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			rights = append(rights, "`"+v.HostPath.Path+"`")
		}
	}
	none := "none"
	if once(users) == "not root" {
		none = "none: profile restricted"
	}
	if port := hostPortOf(pod); port > 0 && len(rights) == 0 {
		rights = append(rights, fmt.Sprintf("TCP %d of the host; otherwise as profile restricted", port))
	}
	return []string{o.GetNamespace() + "/" + o.GetName(), once(users), cmp.Or(once(rights), none)}
}

// hostPortOf returns the first port of the host that is redirected to the pod.
func hostPortOf(pod corev1.PodSpec) int32 {
	for _, c := range pod.Containers {
		for _, p := range c.Ports {
			if p.HostPort > 0 && !pod.HostNetwork {
				return p.HostPort
			}
		}
	}
	return 0
}

// once joins the words without duplicates.
func once(words []string) string {
	var each []string
	for _, w := range words {
		if !slices.Contains(each, w) {
			each = append(each, w)
		}
	}
	return strings.Join(each, ", ")
}

// hostRights returns the permissions on the host that all containers of a pod share.
func hostRights(pod corev1.PodSpec) []string {
	var rights []string
	for _, of := range []struct {
		has  bool
		what string
	}{{pod.HostNetwork, "the host's network"}, {pod.HostPID, "the host's processes"}, {pod.HostIPC, "the host's shared memory"}} {
		if of.has {
			rights = append(rights, of.what)
		}
	}
	return rights
}

func rightsOf(s *corev1.SecurityContext) []string {
	switch {
	case s == nil:
		return nil
	case s.Privileged != nil && *s.Privileged:
		return []string{"privileged"}
	case s.Capabilities == nil:
		return nil
	}
	var rights []string
	for _, add := range s.Capabilities.Add {
		rights = append(rights, string(add))
	}
	return rights
}

// userOf returns the user of a container, from its security context or that of its pod.
func userOf(name string, pod *corev1.PodSecurityContext, c *corev1.SecurityContext) string {
	var forced *bool
	var id *int64
	if pod != nil {
		forced, id = pod.RunAsNonRoot, pod.RunAsUser
	}
	if c != nil {
		forced, id = cmp.Or(c.RunAsNonRoot, forced), cmp.Or(c.RunAsUser, id)
	}
	switch {
	case forced != nil && *forced, id != nil && *id != 0:
		return "not root"
	case name == "coredns" && id == nil:
		return "not root, by its image" // the image sets the user
	default:
		return "root"
	}
}

// TestPodRow: the row of a pod has the permissions of every container.
func TestPodRow(t *testing.T) {
	for spec, want := range map[string]string{
		`{containers: [{name: a}]}`:                                        "root | none",
		`{securityContext: {runAsNonRoot: true}, containers: [{name: a}]}`: "not root | none: profile restricted",
		`{securityContext: {runAsNonRoot: true}, ` +
			`containers: [{name: a, securityContext: {runAsNonRoot: false, runAsUser: 0}}]}`: "root | none",
		`{containers: [{name: a, securityContext: {runAsUser: 1000}}], ` +
			`initContainers: [{name: b, securityContext: {privileged: true}}]}`: "root, not root | privileged",
		`{hostPID: true, containers: [{name: a}, {name: b, securityContext: {capabilities: {add: [NET_RAW]}}}], ` +
			`volumes: [{name: v, hostPath: {path: /run}}]}`: "root | the host's processes, NET_RAW, `/run`",
	} {
		objects, err := manifests.Parse([]byte("{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x, namespace: y}, spec: {template: {spec: " + spec + "}}}"))
		if err != nil {
			t.Fatal(err)
		}
		if row := podRow(t, objects[0]); strings.Join(row[1:], " | ") != want {
			t.Errorf("%s: %q, want %q", spec, row[1:], want)
		}
	}
}

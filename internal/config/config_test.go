package config

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/settings"
)

func full(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestParseFillsDefaults(t *testing.T) {
	c, err := Parse("airgap.yaml", []byte(full(t)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Network.Port != 8472 || c.Registry.Port != 5000 {
		t.Errorf("defaults not filled: network port %d, registry port %d", c.Network.Port, c.Registry.Port)
	}
	if got := c.Preflight.Checks["disk-space"]["usedFail"]; got != "90%" {
		t.Errorf("preflight.checks.disk-space.usedFail is %q, want 90%%", got)
	}
	if got := c.Preflight.Checks["cpu-count"]["fail"]; got != "1" {
		t.Errorf("preflight.checks.cpu-count.fail is %q, want 1", got)
	}
	if h := c.Remote(c.Nodes[1]); !reflect.DeepEqual(h, remote.Host{Name: "w1", Address: "10.0.0.12", Port: 2222, User: "ops", IdentityFile: "~/.ssh/id_ed25519"}) {
		t.Errorf("w1 is reached as %+v", h)
	}
	if h := c.Remote(c.Nodes[0]); h.User != "root" || h.Port != 22 {
		t.Errorf("cp1 is reached as %+v", h)
	}
	if c.Addons[0].Namespace != "monitoring" || c.Addons[1].Namespace != "retail" {
		t.Errorf("namespaces of add-ons are %q, %q", c.Addons[0].Namespace, c.Addons[1].Namespace)
	}
	if one, two := c.Addons[0].Values, c.Addons[1].Values; strings.TrimSpace(string(one.Text)) != "admin: {existingSecret: grafana}\nreplicas: 2" || two.File != "till-values.yaml" {
		t.Errorf("values are %s %s, %s %s", one.File, one.Text, two.File, two.Text)
	}
	if got := c.Master().Name; got != "cp1" {
		t.Errorf("Master() = %q, want cp1", got)
	}
}

// TestProblems changes one thing in a good file and expects the place, the field
// and the expected value.
func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		want     []string // parts of one line of the error
	}{
		"unknown field":       {"podSubnet:", "podSubnett:", []string{"airgap.yaml:7:3:", "kubernetes.podSubnett", "unknown field", `did you mean "podSubnet"?`}},
		"unknown at the top":  {"network:", "networking:", []string{"airgap.yaml:23:1:", "networking: unknown field", "network,"}},
		"unknown in a list":   {"roles: [worker]", "role: worker", []string{"nodes[1].role: unknown field", "roles"}},
		"number for a string": {`version: "1.36.3"`, "version: 1.36", []string{"airgap.yaml:5:12:", "kubernetes.version", "want string such as 1.36.3, got number", "quotes"}},
		"wrong enum":          {"[worker]", "[wroker]", []string{"airgap.yaml:18:13:", "nodes[1].roles[0]", "want one of control-plane, worker, gpu", `"wroker"; did you mean "worker"?`}},
		"gpu, no worker":      {"[worker]", "[gpu]", []string{"nodes[1].roles", "worker too"}},
		"string for a list":   {"[worker]", "worker", []string{"airgap.yaml:18:12:", "nodes[1].roles", "want array, got string"}},
		"missing field":       {"    address: 10.0.0.12\n", "", []string{"airgap.yaml:16:5:", "nodes[1].address: missing"}},
		"long rack":           {"10.0.0.12", "10.0.0.12\n    rack: " + strings.Repeat("r", 64), []string{"airgap.yaml:18:11:", "nodes[1].rack", "63"}},
		"bad address":         {"10.0.0.12", "10.0.0.512", []string{"airgap.yaml:17:14:", "nodes[1].address", "10.0.0.512", "IPv4"}},
		"duplicate name":      {"name: w1", "name: cp1", []string{"airgap.yaml:16:11:", "nodes[1].name", "Duplicate"}},
		"duplicate key":       {"kind: Cluster\n", "kind: Cluster\nkind: Cluster\n", []string{"airgap.yaml:3:1:", "kind", "written twice", "line 2"}},
		"overlapping subnets": {"10.96.0.0/16", "10.244.8.0/21", []string{"kubernetes.serviceSubnet", "overlap"}},
		"no control plane":    {"[control-plane]", "[worker]", []string{"nodes", "control-plane"}},
		"two control planes":  {"[worker]", "[control-plane]", []string{"airgap.yaml:13:3:", "nodes", "want 1, 3, 5 or 7 nodes with the role control-plane"}},
		"no balancer": {
			"    roles: [worker]\n    ssh: {user: ops, port: 2222}",
			"    roles: [control-plane]\n  - {name: cp3, address: 10.0.0.13, roles: [control-plane]}",
			[]string{"kubernetes.controlPlaneEndpoint", "load balancer or virtual IP", "cp1"},
		},
		"inline password":     {"  port: 5000", "  password: hunter2", []string{"registry.password", "inline credential", "file or an environment variable"}},
		"password in a URL":   {"https://dl.rocky", "https://u:hunter2@dl.rocky", []string{"packages.repositories[0].baseURL", "password inside a URL"}},
		"password, no scheme": {"https://dl.rocky", "u:hunter2@dl.rocky", []string{"packages.repositories[0].baseURL", "password inside a URL"}},
		"no such check":       {"time-sync:", "time-synk:", []string{"airgap.yaml:39:5:", "preflight.checks.time-synk: unknown field", "time-sync"}},
		"no such limit":       {"etcdFail:", "etcFail:", []string{"airgap.yaml:41:7:", "preflight.checks.disk-space.etcFail: unknown field", "etcdFail"}},
		"size without unit":   {"4GB", "4 gigabytes", []string{"airgap.yaml:41:17:", "preflight.checks.disk-space.etcdFail", "want a value such as 20GB or 512MiB", "4 gigabytes"}},
		"percent of nothing":  {"90%", "190%", []string{"airgap.yaml:42:17:", "preflight.checks.disk-space.usedFail", "190%"}},
		"percent as a number": {"90%", "90", []string{"preflight.checks.disk-space.usedFail", "want string such as 80%, got number; put it in quotes"}},
		"severity":            {"severity: warn", "severity: skip", []string{"airgap.yaml:39:27:", "preflight.checks.time-sync.severity", "want one of fail, warn", "skip"}},
		"string for a count":  {"fail: 1", "fail: one", []string{"airgap.yaml:44:13:", "preflight.checks.cpu-count.fail", "want integer, got string"}},
		"ssh, unknown":        {"parallel: 3", "parallels: 3", []string{"airgap.yaml:22:3:", "ssh.parallels: unknown field", "parallel"}},
		"ssh, password":       {"parallel: 3", "password: hunter2", []string{"airgap.yaml:22:3:", "ssh.password", "inline credential"}},
		"ssh, nobody's key":   {"~/.ssh/id_ed25519", "id_ed25519", []string{"airgap.yaml:21:17:", "ssh.identityFile", "absolute path"}},
		"ssh, two sources":    {"parallel: 3", "passwordFile: /root/p\n  passwordCommand: [/root/c]", []string{"airgap.yaml:23:", "ssh.passwordCommand", "set passwordFile or passwordCommand, not both"}},
		"ssh, a command here": {"parallel: 3", "passwordCommand: [vault]", []string{"airgap.yaml:22:", "ssh.passwordCommand[0]", "want the absolute path of a program"}},
		"ssh, a file here":    {"parallel: 3", "passwordFile: passwords", []string{"airgap.yaml:22:", "ssh.passwordFile", "absolute path"}},
		"ssh, too many":       {"parallel: 3", "parallel: 0", []string{"airgap.yaml:22:13:", "ssh.parallel"}},
		"ssh, a node's port":  {"2222", "70000", []string{"airgap.yaml:19:28:", "nodes[1].ssh.port"}},
		"ssh, a node's key":   {"port: 2222", "hostKey: MD5:aa", []string{"airgap.yaml:19:", "nodes[1].ssh.hostKey", "SHA256:"}},
		"ssh, of a node only": {"ssh:\n  identityFile: ~/.ssh/id_ed25519\n  parallel: 3\n", "", []string{"airgap.yaml:19:10:", "nodes[1].ssh", "add ssh: {}"}},
		"API server's port":   {"port: 5000", "port: 6443", []string{"registry.port", "6443/tcp", "kube-apiserver"}},
		"kubelet's port":      {"port: 5000", "port: 10250", []string{"registry.port", "10250/tcp", "kubelet"}},
		"a NodePort":          {"port: 5000", "port: 30500", []string{"registry.port", "30000-32767/tcp", "Services"}},
		"the pods' NodePort":  {"network:\n", "network:\n  port: 30500\n", []string{"network.port", "30000-32767/udp", "Services"}},
		"network, unknown":    {"  encapsulation: vxlan\n", "  calico: {colour: red}\n", []string{"network.calico.colour: unknown field", "dataplane"}},
		"etcd's times": {"  serviceSubnet: 10.96.0.0/16\n", "  etcd: {heartbeatInterval: 200ms, electionTimeout: 1s}\n",
			[]string{"airgap.yaml:8:53:", "kubernetes.etcd.electionTimeout", "expected whole milliseconds from 2s to 50s, such as 2s"}},
		"network, no range":  {"  encapsulation: vxlan\n", "  siteRanges: [10.20.0.0/16, 10.20.0.1/8]\n", []string{"airgap.yaml:25:30:", "network.siteRanges[1]", "CIDR of a network"}},
		"network, its range": {"  encapsulation: vxlan\n", "  siteRanges: [10.0.0.0/8]\n", []string{"airgap.yaml:25:16:", "network.siteRanges[0]", "overlaps kubernetes.podSubnet 10.244.0.0/16"}},
		"network, IP-in-IP":  {"encapsulation: vxlan", "encapsulation: ipip", []string{"network.encapsulation", "want one of auto, vxlan, crosssubnet, native", "ipip"}},
		"network, not its":   {"plugin: flannel\n  encapsulation: vxlan", "plugin: flannel\n  encapsulation: crosssubnet", []string{"network.encapsulation", "crosssubnet", "vxlan"}},
		"network, not read":  {"plugin: flannel\n", "plugin: cilium\n  calico: {bgp: true}\n", []string{"network.calico", "it does not use this section"}},
		"add-on, unknown":    {"      replicas: 2\n", "      replicas: 2\n    value: x\n", []string{"addons[0].value: unknown field", "values"}},
		"add-on, its name":   {"name: shop\n", "name: Shop\n", []string{"addons[1].name", "Shop"}},
		"add-on, twice":      {"name: shop\n", "name: monitoring\n", []string{"addons[1].name", "Duplicate"}},
		"add-on, namespace":  {"retail", "Retail", []string{"addons[1].namespace", "Retail"}},
		"add-on of nothing": {
			"    chart: {path: charts/till}\n    values: till-values.yaml\n    manifests: [extra.yaml, \"https://web.example/more.yaml\"]\n",
			"",
			[]string{"addons[1]", "requires a chart or manifests"},
		},
		"values for nobody":  {"    chart: {path: charts/till}\n", "", []string{"addons[1].values", "values without a chart"}},
		"values, a list":     {"values: till-values.yaml", "values: [a]", []string{"addons[1].values", "array"}},
		"chart, both ways":   {"path: charts/till", "path: charts/till, version: 1.2.3", []string{"addons[1].chart", "set path, or repository"}},
		"chart, no version":  {", version: 10.1.2", "", []string{"addons[0].chart.version", "exact version"}},
		"chart, a range":     {"version: 10.1.2", "version: ^10.1", []string{"addons[0].chart.version", "exact version"}},
		"chart, plain http":  {"https://charts.example", "http://charts.example", []string{"addons[0].chart.repository", "want https://HOST/PATH or oci://HOST/PATH"}},
		"chart, its name":    {"name: grafana", "name: ../grafana", []string{"addons[0].chart.name"}},
		"manifest, http":     {"https://web.example", "http://web.example", []string{"addons[1].manifests[1]", "want a path or an https URL"}},
		"manifest, password": {"https://web.example", "https://u:hunter2@web.example", []string{"addons[1].manifests[1]", "password inside a URL"}},
		"values, a password": {"replicas: 2", "adminPassword: hunter2", []string{"addons[0].values.adminPassword", "inline credential"}},
		"images, no source":  {"  list:\n", "  manifests: ['']\n  list:\n", []string{"images.manifests[0]", "want a path or an https URL"}},
		"tab":                {"  podSubnet", "\tpodSubnet", []string{"airgap.yaml:7:1: the line is indented with a tab: YAML accepts only spaces"}},
		"no-break space":     {"kind: Cluster\n", "kind: Cluster\n\u00a0port: 1\n", []string{"airgap.yaml:3:1:", "unknown field; the line is indented with a character that only looks like a space"}},
		"wrong indentation":  {"  podSubnet", "   podSubnet", []string{"airgap.yaml:7:1: the indentation does not fit"}},
		"not UTF-8":          {"kind: Cluster\n", "kind: Cluster # \xc7\xd1\n", []string{"airgap.yaml:2:1: the text is not UTF-8"}},
		"nothing near":       {"podSubnet:", "zebra:", []string{"kubernetes.zebra: unknown field; known here:"}},
		"audit level":        {"  podSubnet:", "  audit: {policy: {rules: [{level: Metdata}]}}\n  podSubnet:", []string{`did you mean "Metadata"?`}},
	} {
		t.Run(name, func(t *testing.T) {
			text := full(t)
			if !strings.Contains(text, tc.old) {
				t.Fatalf("the good file has no %q", tc.old)
			}
			_, err := Parse("airgap.yaml", []byte(strings.Replace(text, tc.old, tc.new, 1)))
			if err == nil {
				t.Fatal("no error")
			}
			if !lineWith(err.Error(), tc.want) {
				t.Errorf("no line with all of %q in:\n%s", tc.want, err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats the secret:\n%s", err)
			}
		})
	}
}

// TestControlPlanes: several are fine behind an address that is none of them.
func TestControlPlanes(t *testing.T) {
	text := strings.NewReplacer("    roles: [worker]\n    ssh: {user: ops, port: 2222}", "    roles: [control-plane, worker]\n  - {name: cp3, address: 10.0.0.13, roles: [control-plane]}\n"+
		"  - {name: w2, address: 10.0.0.14, roles: [worker]}",
		"10.0.0.11:6443", "10.0.0.5:6443").Replace(full(t))
	c, err := Parse("airgap.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if all := c.ControlPlanes(); len(all) != 3 || all[0].Name != c.Master().Name || all[2].Name != "cp3" {
		t.Errorf("got %v", all)
	}
	without := strings.Replace(text, "  controlPlaneEndpoint: 10.0.0.5:6443\n", "", 1)
	if _, err := Parse("airgap.yaml", []byte(without)); err == nil || !strings.Contains(err.Error(), "kubernetes.controlPlaneEndpoint") {
		t.Errorf("without an endpoint: %v", err)
	}
}

// TestOverridesOfAnOlderAirgap: overrides that would be lost, or make the cluster
// insecure, are refused at their line. The bundle that a host already has can be read.
func TestOverridesOfAnOlderAirgap(t *testing.T) {
	text := strings.Replace(
		full(t),
		"      failCgroupV1: false\n",
		"      failCgroupV1: false\n      maxPodz: 5\n    clusterConfiguration: {apiServer: {extraArgs: [{name: oidc-issuer-url, value: https://sso.bank}]}}\n",
		1,
	)
	_, err := Parse("airgap.yaml", []byte(text))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range [][]string{
		{"airgap.yaml:12:", "kubernetes.overrides.kubelet.maxPodz", `did you mean "maxPods"?`},
		{"airgap.yaml:13:", "kubernetes.overrides.clusterConfiguration.apiServer.extraArgs[0]", "use kubernetes.authentication.jwt"},
	} {
		if !lineWith(err.Error(), want) {
			t.Errorf("no line with all of %q in:\n%s", want, err)
		}
	}
	c, err := ParseStored("airgap.yaml", []byte(text))
	if err != nil || c.Kubernetes.Overrides.Kubelet["maxPodz"] != 5 {
		t.Errorf("the bundle of an older airgap: %v", err)
	}
	issuer := "  authentication:\n    jwt:\n      - issuer: {url: https://sso.bank.example, audiences: [kubernetes]}\n        claimMappings: {username: {claim: sub, prefix: 'sso:'}}\n"
	c, err = Parse("airgap.yaml", []byte(strings.Replace(full(t), "  podSubnet:", issuer+"  podSubnet:", 1)))
	if err != nil || len(c.Kubernetes.Authentication.JWT) != 1 {
		t.Errorf("with an issuer: %v", err)
	}
}

func lineWith(text string, parts []string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

// TestAllProblemsAtOnceInOrder breaks a good file in several places and expects
// a problem for each, in the order of the lines, and no problem that only follows from another.
func TestAllProblemsAtOnceInOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		change []string // old, new, …
		want   []string // the problems' paths
	}{
		"shape": {
			[]string{"podSubnet:", "podSubnett:", "[worker]", "[wroker]", "port: 5000", "port: many"},
			[]string{"kubernetes.podSubnett", "nodes[1].roles[0]", "registry.port"},
		},
		"shape and meaning": {
			[]string{"podSubnet:", "podSubnett:", "name: w1", "name: cp1", "10.0.0.12", "10.0.0.512", "[worker]", "[wroker]", "https://dl.rockylinux.org/pub/rocky/9", "http"},
			[]string{"kubernetes.podSubnett", "nodes[1].name", "nodes[1].address", "nodes[1].roles[0]", "packages.repositories[0].baseURL"},
		},
		"who is the control plane cannot be told": {
			[]string{"[control-plane]", "[master]", "10.0.0.12", "10.0.0.512"},
			[]string{"nodes[0].roles[0]", "nodes[1].address"},
		},
		"the endpoint's default is made of a bad address": {
			[]string{"  controlPlaneEndpoint: 10.0.0.11:6443\n", "", "address: 10.0.0.11", "address: 10.0.0.0.11"},
			[]string{"nodes[0].address"},
		},
		"missing, once": {
			[]string{"    address: 10.0.0.12\n", "", `  version: "1.36.3"` + "\n", "", "      gpgKeys: [https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9]\n", ""},
			[]string{"kubernetes.version", "nodes[1].address", "packages.repositories[0].gpgKeys"},
		},
		"an item that is no node": {
			[]string{
				"  - name: w1\n    address: 10.0.0.12\n    roles: [worker]\n    ssh: {user: ops, port: 2222}\n",
				"  - w1\n  - {name: UPPER, address: 10.0.0.13, roles: [worker]}\n", "port: 5000", "port: 6443",
			},
			[]string{"nodes[1]", "registry.port"},
		},
		"credentials, twice written, and meaning": {
			[]string{"https://dl.rockylinux.org/pub/rocky/9", "ftp://me:hunter2@dl/pub", "kind: Cluster\n", "kind: Cluster\nkind: Cluster\n", "10.0.0.12", "localhost"},
			[]string{"kind", "nodes[1].address", "packages.repositories[0].baseURL"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("airgap.yaml", []byte(strings.NewReplacer(tc.change...).Replace(full(t))))
			var ps Problems
			if !errors.As(err, &ps) {
				t.Fatalf("want problems, got %v", err)
			}
			var got []string
			for i, p := range ps {
				got = append(got, p.Path)
				if i > 0 && p.Line < ps[i-1].Line {
					t.Errorf("not in the order of lines:\n%v", err)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%v\nwant problems of %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats the secret:\n%v", err)
			}
		})
	}
}

func TestEmptyAndForeignFiles(t *testing.T) {
	for name, data := range map[string]string{"empty": "", "list": "- a\n", "two": "a: 1\n---\nb: 2\n", "binary": "\x00\x01", "scalar": "hello"} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("airgap.yaml", []byte(data))
			var ps Problems
			if !errors.As(err, &ps) || ps[0].Line < 1 {
				t.Errorf("want problems with a line, got %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? {a: b}\n: c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("airgap.yaml", data)
		if err == nil && c.Name == "" {
			t.Error("a nameless cluster passed")
		}
	})
}

// TestNetworkOfAProject: components of a plugin's project use names and ports.
func TestNetworkOfAProject(t *testing.T) {
	cilium := strings.Replace(full(t), "plugin: flannel", "plugin: cilium", 1)
	c, err := Parse("airgap.yaml", []byte(cilium))
	if err != nil {
		t.Fatal(err)
	}
	if c.Network.Port != 8472 || c.Network.Cilium.Version == "" || !slices.ContainsFunc(c.NetworkPorts(), func(p settings.Port) bool { return p.First == 4240 && p.From == settings.OnlyNodes }) {
		t.Errorf("%+v, %v", c.Network, c.NetworkPorts())
	}
	for old, tc := range map[string]struct{ new, says string }{
		"  port: 5000": {"  port: 4240", "registry.port: Invalid value: 4240: 4240/tcp on the same host belongs to cilium-health"},
		"name: shop\n": {"name: cilium\n", "addons[1].name: Invalid value: \"cilium\": this is the pod network's name"},
	} {
		if _, err := Parse("airgap.yaml", []byte(strings.Replace(cilium, old, tc.new, 1))); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: got %v, want %q", tc.new, err, tc.says)
		}
	}
}

// TestPortOfTheHostPortTest: the registry does not listen where the node redirects packets to a pod.
func TestPortOfTheHostPortTest(t *testing.T) {
	text := strings.Replace(full(t), "  port: 5000", "  port: 10479", 1)
	if _, err := Parse("airgap.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "10479/tcp on the same host belongs to hostPort test") {
		t.Errorf("got %v", err)
	}
	text = strings.Replace(text, "plugin: flannel", "plugin: flannel\n  hostPortTest: never", 1)
	if _, err := Parse("airgap.yaml", []byte(text)); err != nil {
		t.Errorf("without the test: %v", err)
	}
}

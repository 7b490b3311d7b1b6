package cni_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
)

const pods = "10.244.0.0/16"

// network is a configuration of a plugin in the suite.
type network struct {
	name   string
	config cni.Config
	proxy  string   // kube-proxy's mode; "" is iptables
	golden string   // file of testdata with its objects
	says   []string // texts that the objects must contain
	never  []string // texts that they must not contain
	host   []string // required workloads that the plugin's operator creates
}

// networks returns every plugin with its defaults, and with all its settings.
func networks() []network {
	return []network{
		{name: "flannel", golden: "flannel.golden.yaml", says: []string{"8472", `"/etc/airgap/cni/net.d/10-flannel.conflist"`}},
		{name: "flannel, set", config: cni.Config{Port: 4799, MTU: 1450}, proxy: "nftables", says: []string{"4799", "1450", `\"EnableNFTables\":true`}},
		{
			name: "flannel, native", config: cni.Config{Encapsulation: cni.Native, MTU: 1400},
			says: []string{`\"Type\":\"host-gw\"`, `\"mtu\":1400`}, never: []string{"vxlan", "8472", "DirectRouting"},
		},
		{
			name: "calico", config: cni.Config{Plugin: cni.Calico}, golden: "calico.golden.yaml",
			says: []string{
				`"calico_backend":"vxlan"`, `"CALICO_IPV4POOL_VXLAN","value":"Always"`, `"CALICO_IPV4POOL_IPIP","value":"Never"`, `"vxlanPort":4789`,
				`"iptablesBackend":"NFT"`, `"veth_mtu":"0"`, "kubernetes-internal-ip", `"CNI_NET_DIR","value":"/etc/airgap/cni/net.d"`,
			},
			never: []string{"bird", "bgp"},
		},
		{
			name: "calico, set", config: cni.Config{Plugin: cni.Calico, Encapsulation: cni.CrossSubnet, Port: 4799, MTU: 1450}, proxy: "nftables",
			says: []string{`"CALICO_IPV4POOL_VXLAN","value":"CrossSubnet"`, `"vxlanPort":4799`, `"veth_mtu":"1400"`, `"nftablesMode":"Enabled"`}, never: []string{"bird", `"iptablesBackend"`},
		},
		{
			name: "calico, native", config: cni.Config{Plugin: cni.Calico, Encapsulation: cni.Native, MTU: 9000, Calico: cni.CalicoConfig{BGP: true}},
			says: []string{`"calico_backend":"bird"`, `"CALICO_IPV4POOL_VXLAN","value":"Never"`, "-bird-ready", "k8s,bgp", `"veth_mtu":"9000"`}, never: []string{"vxlanPort"},
		},
		{
			name: "calico 3.33", config: cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Version: "v3.33.0"}},
			says: []string{`"calico_backend":"vxlan"`, `"--felix-live"`, `"--felix-ready"`}, never: []string{"bird", "bgp"},
		},
		{
			name: "calico 3.33, native", config: cni.Config{Plugin: cni.Calico, Encapsulation: cni.Native, Calico: cni.CalicoConfig{Version: "v3.33.0", BGP: true}},
			says: []string{"--bird-live", "--bird-ready"},
		},
		{
			name: "cilium", config: cni.Config{Plugin: cni.Cilium}, golden: "cilium.golden.yaml",
			says: []string{
				`"routing-mode":"tunnel"`, `"tunnel-protocol":"vxlan"`, `"tunnel-port":"8472"`, `"kube-proxy-replacement":"false"`, `"ipam":"kubernetes"`,
				`"replicas":2`, `"auto-direct-node-routes":"false"`,
			},
			never: []string{"Secret", `"mtu"`, "10.0.0.0/8"},
		},
		{
			name: "cilium, set", config: cni.Config{Plugin: cni.Cilium, Port: 4799, MTU: 1450}, proxy: "nftables",
			says: []string{`"tunnel-port":"4799"`, `"mtu":"1450"`},
		},
		{
			name: "cilium, native", config: cni.Config{Plugin: cni.Cilium, Encapsulation: cni.Native, MTU: 9000},
			says: []string{`"routing-mode":"native"`, `"auto-direct-node-routes":"true"`, `"ipv4-native-routing-cidr":"10.244.0.0/16"`, `"mtu":"9000"`}, never: []string{"tunnel-port"},
		},
		{
			name: "operator", config: cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm}}, golden: "calico-operator.golden.yaml",
			says: []string{
				`"bgp":"Disabled"`, `"encapsulation":"VXLAN"`, `"linuxDataplane":"Iptables"`, `"kubernetes":"NodeInternalIP"`, `"vxlanPort":4789`, `"iptablesBackend":"NFT"`,
				`"kind":"APIServer"`, `"confDir":"/etc/airgap/cni/net.d"`,
			},
			never: []string{`"registry"`, `"mtu"`}, host: operated(),
		},
		{
			name: "operator, set", config: cni.Config{Plugin: cni.Calico, Encapsulation: cni.CrossSubnet, Port: 4799, MTU: 1450, Calico: cni.CalicoConfig{Form: cni.OperatorForm}}, proxy: "nftables",
			says: []string{`"encapsulation":"VXLANCrossSubnet"`, `"linuxDataplane":"Nftables"`, `"mtu":1400`, `"vxlanPort":4799`}, never: []string{`"iptablesBackend"`, `"nftablesMode"`}, host: operated(),
		},
		{
			name: "operator, native", config: cni.Config{Plugin: cni.Calico, Encapsulation: cni.Native, Calico: cni.CalicoConfig{Form: cni.OperatorForm, BGP: true}}, proxy: "nftables",
			says: []string{`"encapsulation":"None"`, `"bgp":"Enabled"`}, never: []string{"vxlan", "FelixConfiguration"}, host: operated(),
		},
	}
}

// operated returns the workloads that Calico's operator creates.
func operated() []string {
	return []string{"DaemonSet calico-system/calico-node", "Deployment calico-system/calico-typha", "Deployment calico-system/calico-kube-controllers"}
}

// TestPlugins tests every plugin from its project's server through the bundle to a real API server.
func TestPlugins(t *testing.T) {
	upstream := cnitest.Serve(t)
	server := apitest.Start(t, "--allow-privileged") // as kubeadm sets it
	for _, n := range networks() {
		t.Run(n.name, func(t *testing.T) {
			n.config.Default()
			if problems := n.config.Validate(nil); len(problems) > 0 {
				t.Fatal(problems)
			}
			fetched, lock := upstream.Fetch(t, n.config, n.cluster())
			objects := n.objects(t, fetched)
			if n.golden != "" {
				cni.Golden(t, n.golden, objects)
			}
			n.wantWords(t, objects)
			n.wantSystem(t, objects)
			wantNoIPIP(t, objects)
			wantImages(t, n.config, objects, lock)
			wantPlaces(t, n.config)
			t.Cleanup(func() { removeWorkloads(t, server) })
			n.wantApplied(t, server, fetched)
		})
	}
}

func (n network) cluster() cni.Cluster {
	return cni.Cluster{PodSubnet: pods, ProxyMode: n.proxy, Nodes: 3}
}

// objects checks that the objects are the same each time, and that the fetched objects do not change.
func (n network) objects(t *testing.T, fetched []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	before := textOf(t, fetched)
	var all [2][]*unstructured.Unstructured
	for i := range all {
		var err error
		if all[i], err = cni.Objects(n.config, n.cluster(), fetched); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(all[0], all[1]) {
		t.Error("the same input gave different objects")
	}
	if textOf(t, fetched) != before {
		t.Error("the fetched objects have changed")
	}
	return all[0]
}

func (n network) wantWords(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	text := textOf(t, withoutDefinitions(objects))
	for _, want := range append([]string{pods}, n.says...) {
		if !strings.Contains(text, want) {
			t.Errorf("the objects do not contain %s:\n%s", want, text)
		}
	}
	for _, word := range n.never {
		if strings.Contains(text, word) {
			t.Errorf("the objects contain %s:\n%s", word, text)
		}
	}
}

// wantSystem checks that verify waits only for workloads that are applied or that an operator creates.
func (n network) wantSystem(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	_, workloads := cni.System(n.config)
	there := append(manifests.Titles(objects), n.host...)
	for _, w := range workloads {
		if !slices.Contains(there, w) {
			t.Errorf("verify waits for %s, which does not exist", w)
		}
	}
	if len(workloads) == 0 {
		t.Error("verify waits for nothing")
	}
}

// wantNoIPIP searches the text instead of fields, to verify the result of Objects in another way.
func wantNoIPIP(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	off := regexp.MustCompile(`"ipip\w*":("Never"|false)|"name":"\w*IPIP\w*","value":"Never"`)
	text := off.ReplaceAllString(textOf(t, withoutDefinitions(objects)), "")
	if found := regexp.MustCompile(`(?i).{0,60}(ipip|ip-?in-?ip).{0,60}`).FindAllString(text, -1); len(found) > 0 {
		t.Errorf("IP-in-IP remains at %q", found)
	}
}

// wantImages checks that all images of the objects are locked, and that every node pins the images of its
// DaemonSets.
func wantImages(t *testing.T, config cni.Config, objects []*unstructured.Unstructured, lock bundle.Lock) {
	t.Helper()
	locked, pinned := cni.Images(config), cni.NodeImages(config, cni.Images(config))
	if lock.Network != nil {
		locked = nil
		for _, i := range lock.Images {
			locked = append(locked, i.Name)
		}
		pinned = append(pinned, lock.Network.Images...)
	}
	for _, image := range append(cni.Images(config), pinned...) {
		if !slices.Contains(locked, image) {
			t.Errorf("%s is not locked", image)
		}
	}
	var all []workload.Object
	for _, o := range objects {
		all = append(all, workload.Object{Unstructured: o})
	}
	refs, err := workload.Images(all, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		if !slices.Contains(locked, ref.Image) {
			t.Errorf("%s needs %s; the bundle has %v", ref.Where, ref.Image, locked)
		}
		everywhere := slices.ContainsFunc(refs, func(r workload.Ref) bool { return r.Image == ref.Image && strings.HasPrefix(r.Where, "DaemonSet ") })
		if everywhere != slices.Contains(pinned, ref.Image) {
			t.Errorf("%s needs %s; pinned on every node: %v", ref.Where, ref.Image, pinned)
		}
	}
	if len(refs) == 0 || len(pinned) == 0 {
		t.Error("no object has an image, or no node pins one")
	}
}

// wantPlaces checks that reset, firewall and NetworkManager know the plugin's links and ports.
func wantPlaces(t *testing.T, config cni.Config) {
	t.Helper()
	leaves := cni.AllTraces()
	links := cni.Links(config)
	if len(links) == 0 || len(leaves.Paths) == 0 || len(leaves.Chains) == 0 || len(leaves.Dirs) == 0 {
		t.Errorf("links %v, traces %+v", links, leaves)
	}
	for _, link := range links {
		if !slices.Contains(leaves.Links, link) {
			t.Errorf("reset does not know %s", link)
		}
		if name, _ := strings.CutSuffix(link, "*"); name == "" || strings.Contains(name, "*") || len(name) > 15 {
			t.Errorf("%q is not the name or the prefix of an interface", link)
		}
	}
	seen := map[string]bool{}
	for _, p := range cni.Ports(config) {
		id := fmt.Sprintf("%d/%s", p.Number, p.Protocol)
		if seen[id] || p.Number < 1 || p.Number > 65535 || p.Program == "" || p.Why == "" || p.Protocol != "tcp" && p.Protocol != "udp" {
			t.Errorf("port %+v", p)
		}
		seen[id] = true
	}
	if tunnel := fmt.Sprintf("%d/udp", config.VXLANPort()); (config.VXLANPort() > 0) != seen[tunnel] {
		t.Errorf("VXLAN on %d, open are %v", config.VXLANPort(), seen)
	}
}

func (n network) step(server *apitest.Server, fetched []*unstructured.Unstructured) step.Step {
	return cni.Step(cni.Network{
		Config: n.config, Cluster: n.cluster(),
		Fetched: func(context.Context) ([]*unstructured.Unstructured, error) { return fetched, nil },
		Connect: func() (*rest.Config, error) { return server.Config, nil },
	})
}

// wantApplied runs the step twice, as an installation and a second one do.
func (n network) wantApplied(t *testing.T, server *apitest.Server, fetched []*unstructured.Unstructured) {
	t.Helper()
	s := n.step(server, fetched)
	for _, want := range []bool{false, true} {
		if done, err := s.Done(t.Context()); err != nil || done != want {
			t.Fatalf("Done is %v (%v), want %v", done, err, want)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if plan, err := s.Plan(t.Context()); err != nil || len(plan) > 0 {
		t.Errorf("remaining changes: %q, %v", plan, err)
	}
	if changed, err := manifests.Apply(t.Context(), server.Config, n.objects(t, fetched)); err != nil || changed != 0 {
		t.Errorf("the second apply changed %d objects (%v)", changed, err)
	}
}

// TestOneNetwork checks that a cluster keeps its network if airgap.yaml has another one, and that nothing
// else is applied.
func TestOneNetwork(t *testing.T) {
	upstream, server := cnitest.Serve(t), apitest.Start(t, "--allow-privileged")
	all := map[string]network{"flannel": {}, "manifest": {config: cni.Config{Plugin: cni.Calico}}, "operator": {config: cni.Config{Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm}}}}
	for name, n := range all {
		n.config.Default()
		all[name] = n
	}
	steps := map[string]step.Step{}
	for name, n := range all {
		fetched, _ := upstream.Fetch(t, n.config, n.cluster())
		steps[name] = n.step(server, fetched)
	}
	for _, tc := range []struct{ first, then, tells string }{
		{"flannel", "manifest", "DaemonSet kube-flannel/kube-flannel-ds"},
		{"manifest", "operator", "DaemonSet kube-system/calico-node"},
		{"operator", "flannel", "Deployment tigera-operator/tigera-operator"},
	} {
		if err := steps[tc.first].Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for what, do := range map[string]func() error{
			"run":  func() error { return steps[tc.then].Run(t.Context()) },
			"done": func() error { _, err := steps[tc.then].Done(t.Context()); return err },
			"plan": func() error { _, err := steps[tc.then].Plan(t.Context()); return err },
		} {
			if other, is := errors.AsType[*cni.OtherError](do()); !is || other.Workload != tc.tells {
				t.Errorf("%s of %s after %s: got %v", what, tc.then, tc.first, other)
			}
		}
		if done, err := steps[tc.first].Done(t.Context()); err != nil || !done {
			t.Errorf("%s: %v, %v", tc.first, done, err)
		}
		removeWorkloads(t, server)
	}
}

func withoutDefinitions(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" })
}

func textOf(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

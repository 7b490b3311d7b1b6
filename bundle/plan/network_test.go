package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/preflight/facts"
)

// TestNetworkSource: a directory or a chart of another version is refused before the
// rendering.
func TestNetworkSource(t *testing.T) {
	upstream := cnitest.Serve(t)
	client, err := fetch.NewClient(upstream.Sources())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	manifest := upstream.Files["raw.githubusercontent.com/projectcalico/calico/v3.32.4/manifests/calico.yaml"]
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("same/calico.yaml", string(manifest))
	write("other/calico.yaml", strings.ReplaceAll(string(manifest), "v3.32.4", "v3.31.7"))
	write("broken/calico.yaml", "a: [\n")
	for name, version := range map[string]string{"old": "1.16.19", "pre": "1.21.0-pre.0", "new": "1.20.3"} {
		// A chart before 1.18 compares a value with a text, and Helm's error does not explain it.
		write(name+"/Chart.yaml", "apiVersion: v2\nname: cilium\nversion: "+version+"\n")
		write(name+"/templates/agent.yaml", `{{ if eq .Values.kubeProxyReplacement "true" }}{{ end }}`)
	}
	upstream.Files["mirror.corp/calico/calico.yaml"] = []byte(strings.ReplaceAll(string(manifest), "v3.32.4", "v3.31.7"))
	const operator = "network: {plugin: calico, calico: {form: operator, source: %}}\n"
	for name, tc := range map[string]struct{ network, want string }{
		"calico, the same": {strings.Replace(operator, "%", "same", 1), ""},
		"calico, another version": {
			strings.Replace(operator, "%", "other", 1),
			"network calico: other/calico.yaml has Calico v3.31.7, expected v3.32.4, from network.calico.version or its default: set network.calico.version to v3.31.7",
		},
		"calico, a mirror":              {strings.Replace(operator, "%", "'https://mirror.corp/calico'", 1), "https://mirror.corp/calico/calico.yaml has Calico v3.31.7"},
		"calico, no manifest at URL":    {strings.Replace(operator, "%", "'https://mirror.corp/empty'", 1), "https://mirror.corp/empty/calico.yaml, which has it, does not exist"},
		"calico, no such directory":     {strings.Replace(operator, "%", "gone", 1), "gone/calico.yaml, which has it, does not exist"},
		"calico, invalid manifest":      {strings.Replace(operator, "%", "broken", 1), "network calico: broken/calico.yaml, document 1: "},
		"calico, version is set":        {strings.Replace(operator, "%", "gone, version: v3.31.7", 1), ""},
		"calico's manifest":             {"network: {plugin: calico, calico: {source: gone}}\n", ""},
		"cilium, values of other types": {"network: {plugin: cilium, cilium: {source: old}}\n", "network cilium: chart old has Cilium 1.16.19, expected a release from 1.18 on"},
		"cilium before its release":     {"network: {plugin: cilium, cilium: {source: pre}}\n", "chart pre has Cilium 1.21.0-pre.0"},
		"cilium":                        {"network: {plugin: cilium, cilium: {source: new}}\n", ""},
		"cilium, no chart":              {"network: {plugin: cilium, cilium: {source: gone}}\n", ""},
		"flannel":                       {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkNetworkSource(t.Context(), client, configtest.On(t, "el9", k8s+tc.network), dir)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

const withCalico = "network: {plugin: calico}\n"

// TestInvalidNetwork: the plan refuses a pod network that cannot work.
func TestInvalidNetwork(t *testing.T) {
	upstream := cnitest.Serve(t)
	el10 := configtest.On(t, "el10", k8s+withCalico)
	plan, err := upstream.Plan(t, el10.Network, el10.PodCluster(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkNetwork(el10, nil, plan); err != nil {
		t.Errorf("the default of calico depends on kube-proxy: %v", err)
	}
	fixed := configtest.On(t, "el10", k8s+"network: {plugin: calico, calico: {dataplane: iptables}}\n")
	if err := checkNetwork(fixed, nil, plan); err == nil || !strings.Contains(err.Error(), "kube-proxy's mode is nftables") {
		t.Errorf("iptables on EL 10: %v", err)
	}
	if err := checkNetwork(fixed, []*facts.Facts{surveyOf("cp1", "rocky", "9.6", "5.14.0-570.el9_6.x86_64", "v2")}, plan); err != nil {
		t.Errorf("the survey decides: %v", err)
	}
	plan.Lock.Images = plan.Lock.Images[:1]
	if err := checkNetwork(el10, nil, plan); err == nil || !strings.Contains(err.Error(), "which is not in the lock") {
		t.Errorf("an image that is not in the lock: %v", err)
	}
}

// TestFlannelFetchesNothing: airgap contains the objects of flannel.
func TestFlannelFetchesNothing(t *testing.T) {
	c := configtest.On(t, "el9", k8s)
	if need, err := networkNeed(c); need != nil || err != nil {
		t.Errorf("got %+v, %v", need, err)
	}
	images := []bundle.Image{{Name: "ghcr.io/flannel-io/flannel:v0.28.4"}, {Name: "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1"}}
	if err := checkNetwork(c, nil, &bundle.Plan{Lock: bundle.Lock{Images: images}}); err != nil {
		t.Error(err)
	}
}

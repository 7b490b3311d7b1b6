package kubeadm

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	yamlv3 "gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/kubeadm/runtime"
)

// TestStrict: the build of a bundle refuses fields that Kubernetes of this minor would ignore, and
// values with which its programs would not start.
func TestStrict(t *testing.T) {
	const noField, noGate = "Kubernetes 1.36 has no such field of ", "Kubernetes 1.36 has no such feature gate; "
	for name, tc := range map[string]struct {
		section string
		want    []string // one per expected error, in order
	}{
		"the lab's": {labSection, nil},
		"a section": {
			overriding(`clusterConfiguration: {apiserver: {extraArgs: []}}`),
			[]string{`kubernetes.overrides.clusterConfiguration.apiserver: Invalid value: "apiserver": ` + noField + `ClusterConfiguration; did you mean "apiServer"?`},
		},
		"a field": {
			overriding(`kubelet: {maxPodz: 5}`),
			[]string{`overrides.kubelet.maxPodz: Invalid value: "maxPodz": ` + noField + `KubeletConfiguration; did you mean "maxPods"?`},
		},
		"kube-proxy": {
			overriding(`kubeProxy: {modee: nftables}`),
			[]string{`kubeProxy.modee: Invalid value: "modee": ` + noField + `KubeProxyConfiguration; did you mean "mode"?`},
		},
		"case":         {overriding(`kubelet: {MaxPods: 5}`), []string{`did you mean "maxPods"?`}},
		"nothing near": {overriding(`kubelet: {entirelyUnrelated: 5}`), []string{`no such field of KubeletConfiguration`}},
		"all, deeply": {
			overriding(`kubelet: {authentication: {webhook: {cacheTtl: 1m}}, maxPods: many}, kubeProxy: {conntrack: {maxPerCor: 0}, iptables: [a]}`),
			[]string{
				"kubelet.authentication.webhook.cacheTtl",
				`kubelet.maxPods: Invalid value: "many": expected a whole number`,
				"kubeProxy.conntrack.maxPerCor",
				`kubeProxy.iptables: Invalid value: "a list": expected fields of KubeProxyIPTablesConfiguration`,
			},
		},
		"kinds": {
			overriding(`kubelet: {failSwapOn: "no", streamingConnectionIdleTimeout: 300, clusterDNS: 10.96.0.10, maxPods: 99999999999, ` +
				`evictionHard: {memory.available: 1}, systemReserved: [], registerWithTaints: [{key: a, efect: NoSchedule}]}`),
			[]string{
				"kubelet.clusterDNS",
				`kubelet.evictionHard[memory.available]: Invalid value: 1: expected a string (in quotes)`,
				"kubelet.failSwapOn",
				"kubelet.maxPods",
				"kubelet.registerWithTaints[0].efect",
				"kubelet.streamingConnectionIdleTimeout",
				"kubelet.systemReserved",
			},
		},
		"arguments as kubeadm's v1beta3 had them": {
			overriding(`clusterConfiguration: {apiServer: {extraArgs: {profiling: "true"}}}`),
			[]string{`apiServer.extraArgs: Invalid value: "a mapping": expected a list of {name, value}`},
		},
		"an argument": {
			overriding(`clusterConfiguration: {scheduler: {extraArgs: [{name: v, value: 4}, {nam: v, value: "4"}, {name: --v, value: "4"}]}}`),
			[]string{
				"extraArgs[0].value: Invalid value: 4: expected a string (in quotes)",
				"extraArgs[1].nam",
				"extraArgs[1].name: Required value",
				`extraArgs[2].name: Invalid value: "--v": kubeadm writes the dashes: v`,
			},
		},
		"an argument's name": {
			overriding(`clusterConfiguration: {apiServer: {extraArgs: [{name: event-tll, value: 2h}]}, controllerManager: {extraArgs: [{name: bind_address, value: a}]}}`),
			[]string{
				`apiServer.extraArgs[0].name: Invalid value: "event-tll": Kubernetes 1.36 has no such argument of kube-apiserver; did you mean "event-ttl"?`,
				"write it as bind-address",
			},
		},
		"nothing": {
			overriding(`clusterConfiguration: {apiServer: }, kubelet: {maxPods: null}`),
			[]string{"kubelet.maxPods: Required value", "clusterConfiguration.apiServer: Required value: the field has no value"},
		},
		"a gate": {
			overriding(`kubelet: {featureGates: {KubeletInUserNamespce: true, AllAlpha: true}}, kubeProxy: {featureGates: {Nope: true}}`),
			[]string{
				`kubelet.featureGates[KubeletInUserNamespce]: Invalid value: "KubeletInUserNamespce": ` + noGate + `did you mean "KubeletInUserNamespace"?`,
				"kubeProxy.featureGates[Nope]",
			},
		},
		"a gate of an argument": {
			overriding(`clusterConfiguration: {scheduler: {extraArgs: [{name: feature-gates, value: "AllAlpha=true,kube:AllBetta=true"}]}}`),
			[]string{`scheduler.extraArgs[0].value[AllBetta]: Invalid value: "AllBetta": ` + noGate + `did you mean "AllBeta"?`},
		},
		"the audit policy": {
			`{version: 1.36.3, audit: {policy: {rules: [{level: Metadata, resource: [{group: ""}]}]}}}`,
			[]string{`audit.policy.rules[0].resource: Invalid value: "resource": ` + noField + `PolicyRule; did you mean "resources"?`},
		},
		"an issuer": {
			trusting(`isuer: {}, claimMappings: {username: {claim: sub, prefix: "sso:"}}`),
			[]string{"authentication.jwt[0].isuer"},
		},
		"a newer field": {
			`{version: 1.35.8, overrides: {kubelet: {memoryReservationPolicy: None}}}`,
			[]string{"Kubernetes 1.35 has no such field of KubeletConfiguration"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hosttest.Compare(t, section(t, tc.section).Validate(field.NewPath("kubernetes")), tc.want)
		})
	}
	for _, version := range []string{"1.36.3", "1.37.2"} {
		if errs := section(t, "{version: "+version+", overrides: {kubelet: {memoryReservationPolicy: None}}}").Validate(nil); len(errs) > 0 {
			t.Errorf("%s: got %v, want no error for its field", version, errs)
		}
	}
}

// TestStrictAcceptsGenerated: each supported minor knows all fields that airgap generates.
func TestStrictAcceptsGenerated(t *testing.T) {
	for _, r := range release.All() {
		c := section(t, "version: "+r.Minor+".0")
		list, err := fieldsOf(r.Minor)
		if err != nil {
			t.Fatal(err)
		}
		s := strictReader{list, r.Minor}
		node, facts := Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true}, runtime.Facts{OS: "el9", Driver: runtime.Systemd}
		for kind, document := range map[string]object{
			clusterType: cluster(c, node), kubeletType: kubelet(c, facts), proxyType: proxy(c, facts), policyType: decoded(t, auditPolicy),
		} {
			if errs := s.section(field.NewPath(kind), kind, reread(t, document)); len(errs) > 0 {
				t.Errorf("%s: %v", r.Minor, errs)
			}
		}
		for _, gate := range []string{"KubeletInUserNamespace", "AllAlpha"} {
			if errs := s.gates(nil, map[string]any{gate: true}); len(errs) > 0 {
				t.Errorf("%s: %v", r.Minor, errs)
			}
		}
	}
}

// reread converts a document to the types of a parsed airgap.yaml, where whole numbers are
// integers.
func reread(t *testing.T, o object) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var parsed map[string]any
	if err := yamlv3.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestArgumentsMatchPrograms: the lists match the help texts of the real programs.
func TestArgumentsMatchPrograms(t *testing.T) {
	for _, kubeadm := range hosttest.LabKubeadms(t) {
		minor := strings.Join(strings.Split(strings.TrimPrefix(strings.TrimSpace(hosttest.Output(t, kubeadm, "version", "-o", "short")), "v"), ".")[:2], ".")
		list, err := fieldsOf(minor)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []node.Part{node.APIServer, node.ControllerManager, node.Scheduler} {
			help := hosttest.Output(t, filepath.Join(filepath.Dir(kubeadm), string(part)), "--help")
			found := regexp.MustCompile(`(?m)^ +(?:-[a-z], )?--([a-z0-9-]+)`).FindAllStringSubmatch(help, -1)
			if len(found) < 50 {
				t.Errorf("%s %s: got %d arguments in its help, want 50 or more", minor, part, len(found))
			}
			var documented []string
			for _, name := range found {
				if documented = append(documented, name[1]); !slices.Contains(list.Arguments[part], name[1]) {
					t.Errorf("%s %s accepts --%s, which the list does not have", minor, part, name[1])
				}
			}
			for _, name := range list.Arguments[part] {
				if !slices.Contains(documented, name) && !accepts(t, filepath.Join(filepath.Dir(kubeadm), string(part)), name) {
					t.Errorf("%s %s does not accept --%s", minor, part, name)
				}
			}
		}
	}
}

// accepts reports whether a program accepts a deprecated argument, which its help does not list.
func accepts(t *testing.T, program, name string) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, "--"+name+"=1", "--help").CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return !strings.Contains(string(out), "unknown flag")
}

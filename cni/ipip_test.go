package cni

import (
	"strings"
	"testing"

	"airgap.dev/airgap/manifests"
)

// TestNoIPIP checks that every setting that enables IP-in-IP is an error with its place. Settings that
// disable it and definitions are accepted.
func TestNoIPIP(t *testing.T) {
	const meta = "\nmetadata: {name: x, namespace: net}\n"
	for name, tc := range map[string]struct{ object, says string }{
		"a pool":         {"apiVersion: a/v1\nkind: IPPool" + meta + "spec: {ipipMode: CrossSubnet}", "IPPool net/x: spec.ipipMode: CrossSubnet"},
		"a pool without": {"apiVersion: a/v1\nkind: IPPool" + meta + "spec: {ipipMode: Never, ipipEnabled: false}", ""},
		"the operator's pools": {
			"apiVersion: a/v1\nkind: Installation" + meta + "spec: {pools: [{encapsulation: VXLAN}, {encapsulation: IPIPCrossSubnet}]}",
			`spec.pools[1].encapsulation: "IPIPCrossSubnet"`,
		},
		"a variable": {
			"apiVersion: v1\nkind: Pod" + meta + "spec: {containers: [{name: c, env: [{name: CALICO_IPV4POOL_IPIP, value: Always}]}]}",
			"spec.containers[0].env[0]: CALICO_IPV4POOL_IPIP=Always",
		},
		"a variable from elsewhere": {"apiVersion: v1\nkind: Pod" + meta + "spec: {env: [{name: FELIX_IPINIPMTU, valueFrom: {configMapKeyRef: {name: a, key: b}}}]}", "FELIX_IPINIPMTU"},
		"a variable that is off":    {"apiVersion: v1\nkind: Pod" + meta + "spec: {env: [{name: CALICO_IPV4POOL_IPIP, value: Never}, {name: FELIX_IPINIPENABLED, value: 'false'}]}", ""},
		"text within text":          {"apiVersion: v1\nkind: ConfigMap" + meta + "data: {net-conf.json: '{\"Type\":\"ipip\"}'}", "data.net-conf.json"},
		"a definition":              {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition" + meta + "spec: {ipipMode: {enum: [Always]}}", ""},
		"other words":               {"apiVersion: v1\nkind: ConfigMap" + meta + "data: {pipe: 'ip pool ip-ippool'}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := manifests.Parse([]byte(tc.object))
			if err != nil {
				t.Fatal(err)
			}
			err = refuseIPIP(objects)
			if (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "protocol 4")) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}
